{{- define "laneway.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) }}{{ $name = printf "%s-%s" $name .Chart.Name }}{{ end -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "laneway.selector" -}}
app.kubernetes.io/name: laneway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "laneway.labels" -}}
app.kubernetes.io/name: laneway
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "laneway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What gateway.json holds. What the cluster decides cannot be set otherwise. */}}
{{- define "laneway.config" -}}
{{- $replicas := ternary .Values.autoscaling.minReplicas .Values.replicas .Values.autoscaling.enabled -}}
{{- $config := dict "observe" (dict "metrics" (dict "listen" "0.0.0.0:9464")) "replicas" (int $replicas) -}}
{{- if .Values.fetcher.enabled -}}
{{- $fetcher := dict "url" (printf "http://%s-fetcher:8100" (include "laneway.name" .)) "secret" (dict "env" "FETCHER_TOKEN") -}}
{{- if .Values.fetcher.allow }}{{ $_ := set $fetcher "allow" .Values.fetcher.allow }}{{ end -}}
{{- $_ := set $config "hostedTools" (dict "webFetch" $fetcher) -}}
{{- end -}}
{{- $config = mergeOverwrite $config (deepCopy .Values.config) -}}
{{- $_ := set $config "listen" (dict "hostname" "0.0.0.0" "port" 8000) -}}
{{- $notice := mul 1000 (int .Values.stop.noticeSeconds) -}}
{{- $drain := mul 1000 (int .Values.stop.drainSeconds) -}}
{{- $_ := set $config "stop" (dict "noticeMs" $notice "drainMs" $drain) -}}
{{- toPrettyJson $config -}}
{{- end }}

{{- define "laneway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "laneway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
