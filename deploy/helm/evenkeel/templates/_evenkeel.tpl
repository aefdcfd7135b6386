{{- define "evenkeel.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "evenkeel.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "evenkeel.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "evenkeel.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "evenkeel.selector" -}}
app.kubernetes.io/name: {{ include "evenkeel.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "evenkeel.labels" -}}
{{ include "evenkeel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "evenkeel.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "evenkeel.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The settings file: what is given, with what the chart itself decides laid over it. As JSON, which is YAML too:
toYaml would write large numbers as 5e+06, and YAML readers take that for a text. */ -}}
{{- define "evenkeel.settings" -}}
{{- $url := required "settings.storage.redis.url: the roles meet in a Redis; set redis://HOST:PORT/DB" .Values.settings.storage.redis.url -}}
{{- $access := merge (dict "host" "0.0.0.0" "port" 8101) (.Values.settings.access | default dict) -}}
{{- if .Values.secretEnv.EVENKEEL_METRICS_TOKEN -}}
{{- $scraper := dict "name" "prometheus" "role" "scraper" "token_env" "EVENKEEL_METRICS_TOKEN" -}}
{{- $access = merge (dict "people" (concat (list $scraper) ($access.people | default list))) $access -}}
{{- end -}}
{{- $given := .Values.settings.listen | default dict -}}
{{- $name := printf "%s-proxy" (include "evenkeel.fullname" .) -}}
{{- $inside := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := list $name $inside (printf "%s.svc" $inside) (printf "%s.svc.cluster.local" $inside) -}}
{{- if .Values.proxy.ingress.enabled -}}
{{- $hosts = concat $hosts .Values.proxy.ingress.hosts -}}
{{- end -}}
{{- if .Values.proxy.httpRoute.enabled -}}
{{- $hosts = concat $hosts .Values.proxy.httpRoute.hostnames -}}
{{- end -}}
{{- $hosts = concat $hosts ($given.hosts | default list) | uniq -}}
{{- $listen := merge (dict "host" "0.0.0.0" "port" 8100 "hosts" $hosts) $given -}}
{{- $ours := dict "access" $access "listen" $listen "data_dir" "/var/lib/evenkeel" -}}
{{- toPrettyJson (merge $ours .Values.settings) -}}
{{- end -}}

{{- /* Spread over nodes or zones: the constraints of the values, for the pods of one component. */ -}}
{{- define "evenkeel.spread" -}}
{{- if .role.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range $one := .role.topologySpreadConstraints }}
  -
    {{- toYaml $one | nindent 4 }}
    labelSelector:
      matchLabels:
        {{- include "evenkeel.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Variables of a role: those of all, then its own. Takes (dict "root" $ "role" .Values.worker). */ -}}
{{- define "evenkeel.env" -}}
{{- range $name, $from := merge (dict) .role.secretEnv .root.Values.secretEnv }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $from.secret }}
      key: {{ $from.key }}
{{- end }}
{{- with concat .root.Values.extraEnv .role.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* What the pods of all roles share. Takes (dict "root" $ "role" .Values.worker). */ -}}
{{- define "evenkeel.pod" -}}
serviceAccountName: {{ include "evenkeel.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ .role.terminationGracePeriodSeconds }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .role.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .role.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .role.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: settings
    configMap:
      name: {{ include "evenkeel.fullname" .root }}
  - name: data
    emptyDir:
      sizeLimit: 256Mi
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
{{- with concat .root.Values.extraVolumes .role.extraVolumes }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "evenkeel.image" -}}
{{- if .Values.image.digest }}
image: {{ printf "%s@%s" .Values.image.repository .Values.image.digest | quote }}
{{- else }}
image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
{{- end }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{- /* What the containers of all roles share. */ -}}
{{- define "evenkeel.container" -}}
{{- include "evenkeel.image" .root }}
securityContext:
  {{- toYaml .root.Values.securityContext | nindent 2 }}
resources:
  {{- toYaml .role.resources | nindent 2 }}
volumeMounts:
  - name: settings
    mountPath: /etc/evenkeel
    readOnly: true
  - name: data
    mountPath: /var/lib/evenkeel
  - name: tmp
    mountPath: /tmp
{{- with concat .root.Values.extraVolumeMounts .role.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Alive while the event loop turns; a slow start (warming up, a large checkpoint) is given two minutes. */ -}}
{{- define "evenkeel.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
{{- end -}}

{{- /* A new ReplicaSet when the settings change. */ -}}
{{- define "evenkeel.podAnnotations" -}}
checksum/settings: {{ include "evenkeel.settings" .root | sha256sum }}
{{- with .role.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Host and port of a Redis URL. */ -}}
{{- define "evenkeel.redisAddress" -}}
{{- .Values.settings.storage.redis.url | trimPrefix "redis://" | trimPrefix "rediss://" | splitList "/" | first | splitList "@" | last -}}
{{- end -}}

{{- define "evenkeel.redisUser" -}}
{{- .Values.settings.storage.redis.url | regexFind "//[^/@]+@" | trimPrefix "//" | trimSuffix "@" -}}
{{- end -}}

{{- define "evenkeel.redisDatabase" -}}
{{- regexFind "/[0-9]+$" .Values.settings.storage.redis.url | trimPrefix "/" | default "0" -}}
{{- end -}}
