{{/*
The configuration, and the data that templates make of it. snug cluster policy and snug cluster webhook
--register do the same in Go (package policy, render.go, and package webhook,
registration.go); a test of the chart compares the output.
*/}}

{{/* The configuration as snug cluster policy and snug cluster webhook read it. YAML reads a bare off as false. */}}
{{- define "snug.config" -}}
{{- with .Values.config -}}
name: {{ .name | quote }}
mode: {{ .mode }}
inject: {{ .inject }}
memory: {{ .memory | quote }}
round: {{ .round }}
minProcs: {{ include "snug.minProcs" . }}
requestFactor: {{ include "snug.factor" . }}
envFrom: {{ .envFrom }}
exclude:
  namespaces: {{ .exclude.namespaces | toJson }}
  containers: {{ .exclude.containers | toJson }}
check: {{ .check | default "off" }}
resize: {{ .resize | default "off" }}
{{- end -}}
{{- end -}}

{{/* Ps for each requested core, without an exponent. */}}
{{- define "snug.factor" -}}
{{- regexReplaceAll "\\.?0+$" (printf "%.6f" (float64 .requestFactor)) "" -}}
{{- end -}}

{{/* The minimum of Ps, or default. */}}
{{- define "snug.minProcs" -}}
{{- if eq (toString .minProcs) "default" }}default{{ else }}{{ int64 .minProcs }}{{ end -}}
{{- end -}}

{{/* A number as a CEL double. */}}
{{- define "snug.double" -}}
{{- . }}{{ if not (contains "." .) }}.0{{ end -}}
{{- end -}}

{{/* Bytes of a size: 100MiB, 100Mi, 100M, 100MB, 100. */}}
{{- define "snug.bytes" -}}
{{- $text := trimSuffix "B" . -}}
{{- $base := ternary 1024 1000 (hasSuffix "i" $text) -}}
{{- $text = trimSuffix "i" $text -}}
{{- $n := regexFind "^[0-9]+" $text | int64 -}}
{{- range until (index (dict "" 0 "k" 1 "K" 1 "M" 2 "G" 3 "T" 4) (regexFind "[kKMGT]?$" $text)) -}}
{{- $n = mul $n $base -}}
{{- end -}}
{{- $n -}}
{{- end -}}

{{/* The CEL expression of Ps, from one of cores. */}}
{{- define "snug.rounded" -}}
{{- $n := printf "int(%s)" .cores -}}
{{- if eq .round "nearest" }}{{ $n = printf "int(%s + 0.5)" .cores }}{{ end -}}
{{- if eq .round "ceil" }}{{ $n = printf "int(%s) + (%s > double(int(%s)) ? 1 : 0)" .cores .cores .cores }}{{ end -}}
[{{ $n }}].map(n, n < {{ .least }} ? {{ .least }} : n)[0]
{{- end -}}

{{/*
The data of the policy templates, as JSON; takes (list $ suffix action). Numbers are strings,
because JSON numbers would be printed as floating point.
*/}}
{{- define "snug.rendering" -}}
{{- $c := (index . 0).Values.config -}}
{{- $min := include "snug.minProcs" $c -}}
{{- $limitMin := eq $min "default" | ternary "(x.cpu < 1000 ? 1 : 2)" $min -}}
{{- $share := "x.memory - (x.memory / 10 > 8388608 ? x.memory / 10 : 8388608)" -}}
{{- if ne $c.memory "default" -}}
{{- $percent := regexFind "^[0-9.]+" $c.memory | float64 | toString -}}
{{- $share = printf "int(double(x.memory) * %s / 100.0)" (include "snug.double" $percent) -}}
{{- with trimPrefix "-" (regexFind "-.*$" $c.memory) -}}
{{- $share = printf "%s - %s" $share (include "snug.bytes" .) -}}
{{- end -}}
{{- end -}}
{{- $reference := "false" -}}
{{- if eq $c.round "ceil" -}}
{{- $reference = eq $min "1" | ternary "true" (printf "x.cpu > %d" (mul 1000 (sub (atoi $min) 1))) -}}
{{- if eq $min "default" }}{{ $reference = "x.cpu != 1000" }}{{ end -}}
{{- end -}}
{{- $factor := include "snug.factor" $c -}}
{{- $request := "0" -}}
{{- if ne $factor "0" -}}
{{- $cores := printf "x.request * %s" (include "snug.double" $factor) -}}
{{- $rounded := include "snug.rounded" (dict "cores" $cores "round" $c.round "least" (eq $min "default" | ternary "2" $min)) -}}
{{- $request = printf "(x.request <= 0.0 || %s >= 8192.0 ? 0 : %s)" $cores $rounded -}}
{{- end -}}
{{- dict
  "Name" $c.name
  "Suffix" (index . 1)
  "Suffixed" (printf "%s-%s" $c.name (index . 1))
  "Action" (index . 2 | title)
  "Here" (index . 0).Release.Namespace
  "Observe" (eq $c.mode "observe")
  "All" (eq $c.inject "all")
  "OverEnvFrom" (eq $c.envFrom "add")
  "Namespaces" $c.exclude.namespaces
  "Containers" $c.exclude.containers
  "PolicyLabel" "snug.dev/policy"
  "InjectLabel" "snug.dev/inject"
  "ProcsLabel" "snug.dev/gomaxprocs"
  "RestartLabel" "snug.dev/restart-on-resize"
  "AddedAnnotation" "snug.dev/added"
  "ObservedAnnotation" "snug.dev/observed"
  "SkippedAnnotation" "snug.dev/skipped"
  "Enabled" "enabled"
  "Disabled" "disabled"
  "MemoryShare" $share
  "MinMemory" "67108864"
  "MinShare" "50331648"
  "MaxCores" "8192"
  "MaxBytes" "1000000000000000000"
  "ReferenceIf" $reference
  "LimitProcs" (include "snug.rounded" (dict "cores" "double(x.cpu) / 1000.0" "round" $c.round "least" $limitMin))
  "RequestProcs" $request
  "Codes" (dict "Memory" "pod-memory-share" "Reference" "pod-procs-reference" "Value" "pod-procs-value" "Request" "pod-procs-request")
  | toJson -}}
{{- end -}}

{{/* A policy and its binding; takes (list $ suffix action). */}}
{{- define "snug.policy" -}}
{{- $ := index . 0 -}}
{{- $r := include "snug.rendering" . | fromJson -}}
{{- $_ := set $r "Warn" (set (deepCopy $r) "Action" "Warn") -}}
{{- /* Helm before 3.9 needs the template of a text. */ -}}
{{- $_ := set $r "Template" $.Template -}}
{{- $text := $.Files.Get (printf "files/policy/%s.yaml.tmpl" (index . 1)) -}}
{{- tpl (print $text ($.Files.Get "files/policy/parts.yaml.tmpl")) $r | trim -}}
{{- end -}}

{{/* The configuration of the webhook. It excludes its own namespace, so that its own pods do not wait for it. */}}
{{- define "snug.registration" -}}
{{- $c := .Values.config -}}
{{- $excluded := list -}}
{{- range append $c.exclude.namespaces (include "snug.webhookNamespace" .) | uniq -}}
{{- $excluded = append $excluded (quote .) -}}
{{- end -}}
{{- $annotations := .Values.webhook.certificate.annotations -}}
{{- $place := dict "Namespace" (include "snug.webhookNamespace" .) "Service" "snug-webhook" "URL" "" -}}
{{- $r := dict
  "Configuration" (printf "%s-webhook" $c.name)
  "Annotations" (ternary (toJson $annotations) "" (gt (len $annotations) 0))
  "All" (eq $c.inject "all")
  "Excluded" (join ", " $excluded)
  "InjectLabel" "snug.dev/inject"
  "Enabled" "enabled"
  "ByPod" (merge (dict "Path" "/fit/pod") $place)
  "ByNamespace" (merge (dict "Path" "/fit/namespace") $place)
  "Template" .Template -}}
{{- tpl (.Files.Get "files/webhook/registration.yaml.tmpl") $r | trim -}}
{{- end -}}
