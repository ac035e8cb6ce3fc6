// SPDX-License-Identifier: Apache-2.0

// Package review answers the questions that an API server asks a webhook: an
// AdmissionReview in, one out, as text. It is pure: the same configuration, the same
// facts of programs and the same question give the same bytes.
//
// # Who is opted in
//
// A pod's own label wins over its namespace's. The question does not carry the
// namespace's labels, and to read them from the API server would be a wait for it in
// each creation of a pod. But the server selects by them before it asks. So a
// configuration has entries that differ by their selectors and the path they call,
// and which of them was called tells what the namespace says:
//
//	pods that say it themselves     objectSelector: the label is there         ByPod
//	pods that say nothing           objectSelector: the label is not there,
//	                                namespaceSelector: the namespace opts in   ByNamespace
//
// Where everybody is opted in who says nothing else there is one more, for pods and
// namespaces that both say nothing, which calls the path of the second. No pod matches
// two. An entry whose selectors are wider than these does no harm: the
// label in the question is looked at again.
//
// A resize is warned of wherever nobody opted out, as the pod may have variables of
// others. There are two entries as well, by who says something, with one path: neither
// matches where the pod's label, or else its namespace's, is disabled.
//
// # Nothing is refused
//
// Every answer allows. What cannot be read is left as it is, with a warning to who
// created it. A patch that does not apply would block the pod whatever the failurePolicy
// says (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating, callAttrMutatingHook), so
// a path is only added to after it was seen in the question.
package review

import (
	"encoding/base64"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// OptIn is which entry of the configuration asks.
type OptIn uint8

const (
	// ByPod: the pod's own label decides, whatever its namespace says.
	ByPod OptIn = iota
	// ByNamespace: the namespace opts in those who say nothing.
	ByNamespace
)

// Outcome is what became of a question, one of a few words.
type Outcome string

const (
	Patched    Outcome = "patched"    // the pod was given something
	Observed   Outcome = "observed"   // the pod is annotated with what it would be given
	Skipped    Outcome = "skipped"    // opted in, and nothing is to be given; it is annotated with why
	Unchanged  Outcome = "unchanged"  // all has been said of it before
	OptedOut   Outcome = "opted_out"  // not opted in, or a resize of a pod that is opted out
	Warned     Outcome = "warned"     // a resize leaves a variable behind
	Fine       Outcome = "fine"       // a resize leaves none behind
	Other      Outcome = "other"      // not a question of this kind
	Unreadable Outcome = "unreadable" // no question that can be read
)

// Outcomes are all there are.
var Outcomes = []Outcome{Patched, Observed, Skipped, Unchanged, OptedOut, Warned, Fine, Other, Unreadable}

// Subject is a container whose program is asked for.
type Subject struct {
	Namespace, Workload, Container string
	Image                          string // as the pod names it
}

// Reviewer answers. It may be used by many at the same time.
type Reviewer struct {
	Config *policy.Config
	// Program tells what is known of a container's program; nil = nothing ever is. It
	// must not wait for anybody.
	Program func(Subject) podpatch.Program
}

// answer is a response; the zero answer allows and says nothing.
type answer struct {
	uid      string
	patch    patch
	warnings []string
}

// Fit answers the question whether a pod is to be changed as it is created.
func (r *Reviewer) Fit(question []byte, by OptIn) ([]byte, Outcome) {
	q, a := read(question)
	if q == nil {
		return a.text(), Unreadable
	}
	if !q.isPods("", "CREATE") {
		return a.text(), Other
	}
	p := q.Object
	if p == nil || p.Metadata == nil {
		a.warnings = []string{unreadable}
		return a.text(), Unreadable
	}
	if _, ok := p.Metadata.Annotations.Of[pod.MirrorAnnotation]; ok {
		return a.text(), Other
	}
	about := policy.Pod{Namespace: q.Namespace, Labels: p.Metadata.Labels.Of, NamespaceLabels: map[string]string{}}
	if by == ByNamespace {
		about.NamespaceLabels[policy.InjectLabel] = policy.Enabled
	}
	if in, _ := r.Config.OptedIn(&about); !in {
		return a.text(), OptedOut
	}
	var done Outcome
	a.patch, done = r.fit(p, &about)
	return a.text(), done
}

const unreadable = "snug: the pod cannot be read and is left as it is"

// text is an answer as the API server reads it.
// Source: k8s.io/api/admission/v1, AdmissionResponse.
func (a *answer) text() []byte {
	b := make([]byte, 0, 1024+base64.StdEncoding.EncodedLen(len(a.patch)+1))
	b = append(b, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":`...)
	b = append(quote(b, a.uid), `,"allowed":true`...)
	if len(a.patch) > 0 {
		b = append(b, `,"patchType":"JSONPatch","patch":"`...)
		b = base64.StdEncoding.AppendEncode(b, append(a.patch, ']'))
		b = append(b, '"')
	}
	if len(a.warnings) > 0 {
		b = append(b, `,"warnings":[`...)
		for i, w := range a.warnings {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(b, w)
		}
		b = append(b, ']')
	}
	return append(b, "}}"...)
}
