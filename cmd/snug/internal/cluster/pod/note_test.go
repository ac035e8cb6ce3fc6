// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"strings"
	"testing"
)

func TestNote(t *testing.T) {
	const (
		spec = `"spec":{"containers":[{"name":"a","env":[{"name":"GOMEMLIMIT","value":"460MiB"}]},{"name":"b","env":[{"name":"GOMAXPROCS","value":"2"}]}],
			"initContainers":[{"name":"i","env":[{"name":"GOMAXPROCS","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}`
		all = "a GOMEMLIMIT=460MiB (pod-memory-share); b GOMAXPROCS=2 (pod-procs-value); i GOMAXPROCS (pod-procs-reference)"
	)
	for said, want := range map[string]string{
		"":  "",
		all: all,
		"a GOMEMLIMIT=460MiB (pod-memory-share); b GOMEMLIMIT=460MiB (pod-memory-share)": "a GOMEMLIMIT=460MiB (pod-memory-share)",
		"b GOMAXPROCS=2 (pod-procs-request)":                                             "b GOMAXPROCS=2 (pod-procs-request)",
		"a GOMEMLIMIT=461MiB (pod-memory-share)":                                         "",
		"b GOMAXPROCS (pod-procs-reference)":                                             "",
		"i GOMAXPROCS= (pod-procs-value)":                                                "",
		"c GOMEMLIMIT=460MiB (pod-memory-share)":                                         "",
		"a GOMEMLIMIT=460MiB (because)":                                                  "",
		"a GOMEMLIMIT=460MiB":                                                            "",
		" (pod-memory-share)":                                                            "",
		"; ; ":                                                                           "",
	} {
		p := parsed(t, `{"metadata":{"annotations":{"snug.dev/added":"`+said+`"}},`+spec+`}`)
		n := p.Note()
		if got := n.With(""); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
		c := &p.Spec.Containers[0]
		if got := n.Sized(c, c.Env.Vars[0]); got != strings.Contains(want, "a GOMEMLIMIT") {
			t.Errorf("%q: added %v", said, got)
		}
	}
	p := parsed(t, `{"metadata":{"annotations":{"snug.dev/added":"`+all+`"}},`+spec+`}`)
	n := p.Note()
	n.Correct(&p.Spec.Containers[0], "460MiB", "921MiB")
	n.Correct(&p.Spec.Containers[0], "460MiB", "1MiB")
	if got, want := n.With("c"), strings.Replace(all, "460", "921", 1)+"; c"; got != want {
		t.Errorf("corrected %q, want %q", got, want)
	}
	if n := (&Pod{}).Note(); n.With("") != "" {
		t.Error("a note of a pod without metadata")
	}
}

// TestLongNote: an annotation above the maximum size counts as none.
func TestLongNote(t *testing.T) {
	const said = "a GOMEMLIMIT=1 (pod-memory-share)"
	for size, want := range map[int]string{MaxAnnotations: said, MaxAnnotations + 1: ""} {
		text := said + Separator + strings.Repeat("x", size-len(said+Separator))
		n := parsed(t, `{"metadata":{"annotations":{"snug.dev/added":"`+text+`"}},"spec":{"containers":[{"name":"a","env":[{"name":"GOMEMLIMIT","value":"1"}]}]}}`).Note()
		if got := n.With(""); got != want {
			t.Errorf("%d bytes: %q", size, got)
		}
	}
}
