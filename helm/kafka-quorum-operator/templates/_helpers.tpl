{{- define "kafka-quorum-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kafka-quorum-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "kafka-quorum-operator.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "kafka-quorum-operator.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "kafka-quorum-operator.serviceAccountName" -}}
{{- default (ternary (include "kafka-quorum-operator.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "kafka-quorum-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kafka-quorum-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kafka-quorum-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "kafka-quorum-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kafka-quorum-operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Not empty if looks are written and questions are answered. Values of an earlier release do not say so. */}}
{{- define "kafka-quorum-operator.introspects" -}}
{{- if ne (toString (.Values.introspection).enabled) "false" }}true{{ end }}
{{- end }}

{{/* Whether the operator's pods answer on the port of their metrics. */}}
{{- define "kafka-quorum-operator.metered" -}}
{{- if ne (toString (.Values.metrics).enabled) "false" }}true{{ end }}
{{- end }}

{{/* Whether a PodMonitor is made: as the values say, or if the cluster has the definition. */}}
{{- define "kafka-quorum-operator.podMonitored" -}}
{{- $enabled := toString ((.Values.metrics).podMonitor).enabled }}
{{- if eq $enabled "true" }}true
{{- else if and (ne $enabled "false") (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor") }}true
{{- end }}
{{- end }}

{{- define "kafka-quorum-operator.metricsName" -}}
{{- printf "%s-metrics" (include "kafka-quorum-operator.fullname" . | trunc 54 | trimSuffix "-") }}
{{- end }}

{{/* What the operator may do in a namespace whose resources it serves. Every verb is used; each line says what for. */}}
{{- define "kafka-quorum-operator.rules" -}}
- apiGroups: [kafkaquorum.io]
  resources: [kafkaquorums]
  verbs:
    - get # read again before an act
    - list # every quorum at the start
    - watch # changes of a spec
- apiGroups: [kafkaquorum.io]
  resources: [kafkaquorums/status]
  verbs:
    - patch # what is seen and done; guarded by the resource version. The spec is never written
- apiGroups: [kafkaquorum.io]
  resources: [kafkabrokerpools]
  verbs:
    - get # read again before an act; where the brokers of an application are reached
    - list # every pool at the start; the pools of a quorum, whose node ids must differ
    - watch # changes of a spec
- apiGroups: [kafkaquorum.io]
  resources: [kafkabrokerpools/status]
  verbs:
    - patch # what is seen and done; guarded by the resource version. The spec is never written
- apiGroups: [kafkaquorum.io]
  resources: [kafkastreamsapplications]
  verbs:
    - get # read again before an act
    - list # every application at the start
    - watch # changes of a spec
- apiGroups: [kafkaquorum.io]
  resources: [kafkastreamsapplications/status]
  verbs:
    - patch # what is seen and done; guarded by the resource version. The spec is never written
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs:
    - get # QUORUM-disruption: whether another resource of this quorum stops running servers now
    - create # the first time; a name cannot be given for that
    - update # take it and give it back, by compare-and-swap
- apiGroups: [""]
  resources: [pods]
  verbs:
    - get # an adopted pod that a list lacks is asked for by name before another one is created
    - list # what is there, read before every act
    - watch # a pod that comes, goes or changes wakes its quorum
    - create # formatter pods, Kafka pods, and instances of applications
    - patch # the label that the disruption budget selects voters by
    - delete # formatters that are done, pods that are made again, and instances of applications that restart
- apiGroups: [""]
  resources: [pods/eviction]
  verbs:
    - create # a restart asks the disruption budget, as every drain does
- apiGroups: [""]
  resources: [pods/status]
  verbs:
    - patch # the readiness gate of a caught-up voter
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs:
    - get # a claim that a list lacks is asked for by name before its disk counts as lost
    - list # what is there, those of earlier lives of a quorum included
    - watch # a lost claim wakes its quorum
    - create # one for each controller, each volume of a broker, and each instance of an application with state
    - patch # the identity on its annotations, its owner, a larger size
    - delete # the claim of a controller that was removed, where whenScaled is Delete; earlier state of an instance
- apiGroups: [""]
  resources: [configmaps]
  verbs:
    - get # the record of the identity, the contract of a quorum, the properties that an application names
    - list # the record, and properties that no pod uses any more
    - watch # a record that is deleted wakes its quorum; only metadata is read
    - create # the record, and the properties of each revision
    - update # the record, by compare-and-swap
    - patch # owner and labels of the record, the accepted spec beside it; owner of server properties that were left
    - delete # properties that no pod uses any more
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs:
    - get # what cert-manager is asked for, by name; it is not listed
    - create # one for each certificate of a quorum whose issuer is of cert-manager
    - patch # the same, when names, lives or the issuer change
- apiGroups: [""]
  resources: [secrets]
  verbs:
    - get # certificates of a quorum or a pool, and the Secrets that a spec names: by name, never listed
    - create # authorities, certificates and users that the operator makes
    - update # their renewal, by compare-and-swap
- apiGroups: [""]
  resources: [services]
  verbs:
    - get # whether one of this name belongs to somebody else
    - list # compare with what it should be
    - watch # a service that is deleted wakes its quorum; only metadata is read
    - create # host names of controllers and brokers; where clients of brokers begin
    - patch # correct it
    - delete # the services of a listener, or of a broker, that the spec does not have any more
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs:
    - get # whether one of this name belongs to somebody else
    - list # compare with the voter set
    - create # the voters' budget
    - patch # follow the voter set
- apiGroups: [apps]
  resources: [statefulsets]
  verbs:
    - get # what a Streams application adopts, and whether it was created again
    - delete # adopt its pods: it is deleted without them. The admission policy allows no other deletion
- apiGroups: [apps]
  resources: [deployments]
  verbs:
    - get # as for StatefulSets
    - delete # as for StatefulSets
- apiGroups: [apps]
  resources: [replicasets]
  verbs:
    - list # those of a Deployment that is adopted
    - delete # as for the Deployment
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs:
    - list # what scales a workload that is adopted is named before
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs:
    - get # one that the record names and a list does not have; those of the brokers of other pools
    - list # the revisions that lost pods are made again from
    - create # one for each change of what pods are made of
    - delete # old ones that nothing is made from
- apiGroups: [""]
  resources: [events]
  verbs:
    - create # every act of the operator is an event
    - patch # news that repeats is counted on its first event
{{- if include "kafka-quorum-operator.introspects" . }}
- apiGroups: [introspect.kafkaquorum.io]
  resources: [quorumlooks]
  verbs:
    - get # what the one of a quorum says, once after each start; it is not listed
    - create # one for each quorum, which owns it
- apiGroups: [introspect.kafkaquorum.io]
  resources: [quorumlooks/status]
  verbs:
    - patch # what a look shows, when that is new; guarded by the resource version
- apiGroups: [introspect.kafkaquorum.io]
  resources: [planquestions]
  verbs:
    - get # what is asked, once; it is not listed
    - watch # questions that come; only metadata is read
    - delete # a question some minutes after its creation, by its uid
- apiGroups: [introspect.kafkaquorum.io]
  resources: [planquestions/status]
  verbs:
    - patch # the answer; guarded by the uid
{{- end }}
{{- end }}
