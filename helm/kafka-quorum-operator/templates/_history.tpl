{{/* A CronJob's name has 52 characters at most. */}}
{{- define "kafka-quorum-operator.historyName" -}}
{{- printf "%s-history" (include "kafka-quorum-operator.fullname" . | trunc 44 | trimSuffix "-") }}
{{- end }}

{{/* Not the operator's: its Deployment, budget and network policies must not take these pods for operators. */}}
{{- define "kafka-quorum-operator.historySelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-history" (include "kafka-quorum-operator.name" . | trunc 55 | trimSuffix "-") }}
app.kubernetes.io/instance: {{ printf "%s-history" .Release.Name | quote }}
{{- end }}

{{- define "kafka-quorum-operator.historyImage" -}}
{{- with .Values.history.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Whether only one node can mount a volume: a claim that the values do not call shared. */}}
{{- define "kafka-quorum-operator.oneNode" -}}
{{- if and .volume.persistentVolumeClaim (not .shared) }}yes{{ end }}
{{- end }}

{{/* Values that cannot work end the installation, with what to do. */}}
{{- define "kafka-quorum-operator.historyChecks" -}}
{{- $history := .Values.history }}
{{- $observations := .Values.observations }}
{{- if not $history.volume }}
{{- fail "history.volume is missing: the page and the tables need a volume, for example history.volume.persistentVolumeClaim.claimName=history" }}
{{- end }}
{{- if not (or $observations.volume $observations.url $history.logs.volume $history.logs.paths) }}
{{- fail "history.enabled is true, but there is nothing to read: set observations.volume or observations.url, or history.logs" }}
{{- end }}
{{- range $name, $volume := dict "observations.volume" $observations.volume "history.volume" $history.volume "history.logs.volume" $history.logs.volume }}
{{- range $kind := list "emptyDir" "ephemeral" }}
{{- if hasKey ($volume | default dict) $kind }}
{{- fail (printf "%s.%s: each pod has such a volume of its own, so a run would not find what others wrote; with history.enabled, name a volume that outlives its pods, such as a persistentVolumeClaim" $name $kind) }}
{{- end }}
{{- end }}
{{- end }}
{{- with ($history.volume.persistentVolumeClaim).claimName }}
{{- if eq . (($observations.volume.persistentVolumeClaim).claimName | default "") }}
{{- fail (printf "history.volume: the claim %s is the one of observations.volume; name another one, because a run reads all of that and may not write there" .) }}
{{- end }}
{{- end }}
{{- range splitList "," $history.logs.paths }}
{{- if and . (not (contains "://" .)) (or (not $history.logs.volume) (not (or (eq . "/logs") (hasPrefix "/logs/" .)))) }}
{{- fail (printf "history.logs.paths: %s is no URL, and not on history.logs.volume, which is mounted at /logs" .) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "kafka-quorum-operator.historyPodSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
# A fresh volume belongs to root; this group may write on it, and read what the operator writes.
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{- define "kafka-quorum-operator.historyContainerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/*
On the operator's pods, where the history's have to find the one that has a claim mounted: an upgrade to that claim leaves
older pods on other nodes for a while. Nothing is rendered where it does not matter.
*/}}
{{- define "kafka-quorum-operator.observationsLabel" -}}
{{- if and (.Values.history).enabled (include "kafka-quorum-operator.oneNode" (dict "volume" .Values.observations.volume "shared" .Values.observations.sharedVolume)) -}}
kafkaquorum.io/observations-claim: {{ .Values.observations.volume.persistentVolumeClaim.claimName | default "" | sha256sum | trunc 16 | quote }}
{{- end }}
{{- end }}

{{/*
Where a volume can be mounted by one node only, its pods come together: runs and the server go where the operator is, or
runs where the server is. `labels` are the pods to go to; nothing is rendered without.
*/}}
{{- define "kafka-quorum-operator.historyAffinity" -}}
{{- $ours := include "kafka-quorum-operator.oneNode" (dict "volume" .root.Values.history.volume "shared" .root.Values.history.sharedVolume) }}
{{- $theirs := include "kafka-quorum-operator.observationsLabel" .root }}
{{- $labels := "" }}
{{- if and $theirs (or .run $ours) }}
{{- $labels = printf "%s\n%s" (include "kafka-quorum-operator.selectorLabels" .root) $theirs }}
{{- else if and .run $ours .root.Values.history.server }}
{{- $labels = printf "%s\napp.kubernetes.io/component: page" (include "kafka-quorum-operator.historySelectorLabels" .root) }}
{{- end }}
{{- with $labels }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- . | nindent 12 }}
{{- end }}
{{- end }}

{{/* What the runs and the server have in common of the pod. */}}
{{- define "kafka-quorum-operator.historyPod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.history.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "kafka-quorum-operator.historyPodSecurity" .root | nindent 2 }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "kafka-quorum-operator.historyAffinity" . }}
{{- end }}
