// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUnjudged: each line that ends in "# unjudged" is one, and no other.
func TestUnjudged(t *testing.T) {
	const text = `apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  # GOMAXPROCS=2 would do
  containers:
  - name: app
    image: app
    command: [sh, -c, "GOMEMLIMIT=512Mi exec /server"] # unjudged
    args:
    - |
      export GOGC=off
    env:
    - {name: GOMAXPROCS, value: "2"}
    - name: GOGC
      value: "100"
    - name: GOMEMLIMIT # unjudged
      value: ${MEM}MiB
    - name: GOMAXPROC # unjudged
      value: "2"
    - {name: GOMEM_LIMIT, value: "1"} # unjudged
    - name: gogc # unjudged
      value: "50"
    - name: GOMAXPROCS_HELP
      value: x
    - name: LIMIT
      valueFrom: {resourceFieldRef: {resource: limits.memory}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData:
  GOMAXPROCS: "1.5"
  start: GOMAXPROCS=2 /server # unjudged
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, annotations: {snug.dev/added: a GOMEMLIMIT=460MiB (pod-memory-share)}}
data:
  GOGC: "100"
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: h}
spec:
  values:
    env:
      GOMEMLIMIT: 1GiB # unjudged
    extraEnv:
    - name: GOMAXPROCS # unjudged
      value: "16"
    notes: the program respects GOMAXPROCS and GOGC
`
	var want []int
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasSuffix(line, "# unjudged\n") || strings.Contains(line, "export GOGC") {
			want = append(want, n)
		}
	}
	f := new(Batch).Parse("x.yaml", []byte(text))
	var got []int
	said := ""
	for _, p := range f.Unjudged {
		got = append(got, p.Line)
		said += fmt.Sprintf("%d: %s\n", p.Line, p.Why)
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v\n%s", got, want, said)
	}
}

func TestMisspelt(t *testing.T) {
	for name, want := range map[string]string{
		"GOMAXPROCS": "", "GOGC": "", "GOMAXPROC": "GOMAXPROCS", "GOMAXPROCSS": "GOMAXPROCS", "go_max_procs": "GOMAXPROCS", "GOMEM-LIMIT": "GOMEMLIMIT",
		"gogc": "GOGC", "GOGCC": "", "GOG": "", "AUTOMEMLIMIT": "", "GOMAXPROCS_OLD": "", "": "",
	} {
		if got := misspelt(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
