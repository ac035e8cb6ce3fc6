// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for name, text := range recorded(t) {
		if q, a := read(text); q == nil || q.Object == nil || len(q.Object.Spec.Containers) == 0 || a.UID != q.UID {
			t.Errorf("%s cannot be read", name)
		}
		// A truncated review cannot be decoded; the answer has its UID.
		for end := range len(text) {
			if end > 3000 && end%97 > 0 {
				continue
			}
			q, a := read(text[:end])
			if q != nil || end > 300 && a.UID == "" {
				t.Fatalf("%s: %d bytes are read, uid %q", name, end, a.UID)
			}
		}
	}
}

// TestReadExactly: the webhook uses only members that an API server stores: none with a name in
// another case, none with a duplicate name.
func TestReadExactly(t *testing.T) {
	const pod = `{"metadata":{"name":"p","labels":{"snug.dev/inject":"enabled"}},"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":"1Gi"}}}]}}`
	r := &Reviewer{Config: configured(t, "")}
	for name, c := range map[string]struct {
		replace, by string
		want        Outcome
	}{
		"unchanged":                      {"", "", Patched},
		"a limit in another case":        {`"memory":"1Gi"`, `"memory":"1Gi","Memory":"1Mi"`, Patched},
		"only in another case":           {`"memory":"1Gi"`, `"MEMORY":"1Gi"`, Skipped},
		"labels in another case":         {`"labels"`, `"Labels"`, OptedOut},
		"more labels in another case":    {`"labels"`, `"LABELS":{"snug.dev/inject":"disabled"},"labels"`, Patched},
		"a Kelvin sign":                  {`"metadata"`, `"\u212Aind":"x","metadata"`, Patched},
		"another namespace":              {`"namespace":"web"`, `"namespace":"web","Namespace":"kube-system"`, Patched},
		"a limit twice":                  {`"memory":"1Gi"`, `"memory":"1Gi","memory":"1Mi"`, Unreadable},
		"labels twice":                   {`"labels"`, `"labels":{"snug.dev/inject":"disabled"},"labels"`, Unreadable},
		"a label twice":                  {`"snug.dev/inject"`, `"snug.dev/inject":"disabled","snug.dev/inject"`, Unreadable},
		"a label twice, once in escapes": {`"snug.dev/inject"`, `"snug.dev/injec\u0074":"disabled","snug.dev/inject"`, Unreadable},
		"an object twice":                {`"object"`, `"object":null,"object"`, Unreadable},
		"a skipped member twice":         {`"spec":{`, `"spec":{"x":{"a":1,"a":2},`, Unreadable},
		"text that is not UTF-8":         {`"name":"p"`, "\"name\":\"p\xff\"", Unreadable},
		"half of a surrogate pair":       {`"name":"p"`, `"name":"p\ud800"`, Unreadable},
		"a null list":                    {`"containers"`, `"initContainers":null,"containers"`, Patched},
		"a null container":               {`"containers":[`, `"containers":[null,`, Unreadable},
		"something after it":             {`}}}]}}}}`, `}}}]}}}} {}`, Unreadable},
	} {
		question := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"web","resource":{"resource":"pods"},"object":` + pod + `}}`
		if !strings.Contains(question, c.replace) {
			t.Fatalf("%s: nothing to replace", name)
		}
		text, outcome := r.Fit([]byte(strings.Replace(question, c.replace, c.by, 1)), ByPod)
		must(t, text, "1")
		if outcome != c.want {
			t.Errorf("%s: %s, want %s: %s", name, outcome, c.want, text)
		}
	}
}

// TestBounded: the bounds are reached, and not exceeded.
func TestBounded(t *testing.T) {
	for mark, most := range map[string]int{`":`: maxMembers, ":": maxMarks, "{": maxMarks} {
		for over := -1; over <= 1; over++ {
			if got := bounded([]byte(strings.Repeat(mark, most+over))); got != (over <= 0) {
				t.Errorf("%d of %s: %t", most+over, mark, got)
			}
		}
	}
}
