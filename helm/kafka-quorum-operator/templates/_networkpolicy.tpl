{{/* The namespaces of quorums or pools that a policy of these values is made in. Without any, nothing is rendered. */}}
{{- define "kafka-quorum-operator.policyNamespaces" -}}
{{- $namespaces := .values.namespaces | default .root.Values.watchNamespaces }}
{{- if not $namespaces }}
{{- fail (printf "%s.namespaces is missing: name the namespaces of the quorums, as in %s.namespaces={kafka}, or set watchNamespaces" .name .name) }}
{{- end }}
{{- toYaml $namespaces }}
{{- end }}

{{/* The operator's pods, as a peer. */}}
{{- define "kafka-quorum-operator.operatorPeer" -}}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ .Release.Namespace | quote }}
  podSelector:
    matchLabels:
      {{- include "kafka-quorum-operator.selectorLabels" . | nindent 6 }}
{{- end }}

{{/* A selector of namespaces: those that the operator serves. */}}
{{- define "kafka-quorum-operator.servedNamespaces" -}}
{{- if .Values.watchNamespaces -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: In
    values: {{ toJson .Values.watchNamespaces }}
{{- else -}}
{}
{{- end -}}
{{- end }}

{{/*
A selector of pods of one role, and of the quorum `of`; if that is empty, of every quorum but those in `others`.
`key` is the label that names the quorum: kafkaquorum.io/quorum of controllers, kafkaquorum.io/of-quorum of brokers.
*/}}
{{- define "kafka-quorum-operator.membersOf" -}}
matchLabels:
  kafkaquorum.io/role: {{ .role }}
  {{- with .of }}
  {{ $.key }}: {{ . | quote }}
  {{- end }}
{{- if not .of }}
matchExpressions:
  - key: {{ .key }}
    operator: Exists
  {{- with .others }}
  - key: {{ $.key }}
    operator: NotIn
    values: {{ toJson . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Controllers and brokers of pools of the quorum `of`, as above, as peers. */}}
{{- define "kafka-quorum-operator.memberPeers" -}}
- podSelector:
    {{- include "kafka-quorum-operator.membersOf" (merge (dict "role" "controller" "key" "kafkaquorum.io/quorum") .) | nindent 4 }}
- podSelector:
    {{- include "kafka-quorum-operator.membersOf" (merge (dict "role" "broker" "key" "kafkaquorum.io/of-quorum") .) | nindent 4 }}
{{- end }}

{{/* A rule of egress: names of services are resolved. */}}
{{- define "kafka-quorum-operator.dns" -}}
- ports:
    {{- range $protocol := list "UDP" "TCP" }}
    - port: 53
      protocol: {{ $protocol }}
    {{- end }}
  {{- with ((.Values.networkPolicy).egress).dnsTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
