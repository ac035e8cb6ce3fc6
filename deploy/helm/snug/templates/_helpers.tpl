{{/* Names and labels. Objects have fixed names, the same in every cluster. */}}

{{/* Labels of an object; takes (list $ component). */}}
{{- define "snug.labels" -}}
{{- $ := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
app.kubernetes.io/part-of: snug
{{ include "snug.selector" . }}
{{- end -}}

{{/* Labels of an object to which users add some; takes (list $ component added). Added labels win. */}}
{{- define "snug.labelled" -}}
{{- toYaml (merge (deepCopy (index . 2)) (include "snug.labels" . | fromYaml)) -}}
{{- end -}}

{{/* Labels that select the component's pods; takes (list $ component). */}}
{{- define "snug.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: snug
app.kubernetes.io/instance: {{ $.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of the component's pods, to which users add some; takes (list $ component added). Neither policies nor webhook change snug's own pods. */}}
{{- define "snug.podLabels" -}}
{{- toYaml (merge (deepCopy (index . 2)) (dict "snug.dev/inject" "disabled") (include "snug.selector" . | fromYaml)) -}}
{{- end -}}

{{- define "snug.image" -}}
{{- with .Values.image -}}
{{- $at := required "image.repository is empty; hint: leave it out for the published image, or name your copy, --set image.repository=registry.example/snug" .repository -}}
{{- if .digest }}{{ $at }}@{{ .digest }}{{ else }}{{ $at }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Where the agent has names from: none, node or api. true and false are api and none, as in older charts. */}}
{{- define "snug.names" -}}
{{- $names := toString .Values.agent.names -}}
{{- if eq $names "true" }}api{{ else if eq $names "false" }}none
{{- else if ne $names "auto" }}{{ $names }}
{{- else if and .Values.webhook.enabled .Values.webhook.learn (not .Values.agent.auth) }}api
{{- else }}node{{ end -}}
{{- end -}}

{{/* "true" if the webhook asks the agents. */}}
{{- define "snug.learns" -}}
{{- if and .Values.webhook.enabled .Values.webhook.learn .Values.agent.enabled (eq (include "snug.names" .) "api") (not .Values.agent.auth) }}true{{ end -}}
{{- end -}}

{{/* Where pods are scheduled; takes the component's values. */}}
{{- define "snug.place" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The webhook's namespace: one of its own, or the release's. */}}
{{- define "snug.webhookNamespace" -}}
{{- .Values.webhook.namespace | default .Release.Namespace -}}
{{- end -}}
