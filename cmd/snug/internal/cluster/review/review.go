// SPDX-License-Identifier: Apache-2.0

// Package review answers the AdmissionReviews that an API server sends to a webhook, text for
// text. It is pure: the same configuration, facts of programs and review give the same bytes.
//
// # Which pods are opted in
//
// A pod's own label wins over its namespace's. The review does not contain the namespace's
// labels, and a request for them would delay the creation of every pod. But the API server
// selects by labels before it asks. So the webhook configuration has entries with different
// selectors and paths, and the path shows what the labels say:
//
//	pods with the label             objectSelector: the label exists           ByPod
//	pods without the label          objectSelector: the label does not exist,
//	                                namespaceSelector: the namespace opts in   ByNamespace
//
// With inject: all there is one more entry, with the second path, for pods without the label in
// namespaces without the label. No pod matches two entries. An entry with wider selectors does no
// harm, because the label in the review is checked again.
//
// A resize causes a warning unless the pod is opted out, because a pod may have variables that
// snug did not add. This has two entries as well, with one path: neither matches if the label of
// the pod, or else of its namespace, is disabled.
//
// # Nothing is refused
//
// Every answer allows. A pod that cannot be read stays as it is, with a warning to its creator. A
// patch that does not apply would block the pod whatever the failurePolicy
// (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating, callAttrMutatingHook), so a patch only
// adds below paths that are in the review.
package review

import (
	"encoding/base64"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// OptIn says which entry of the webhook configuration asks.
type OptIn uint8

const (
	// ByPod: the pod's own label decides.
	ByPod OptIn = iota
	// ByNamespace: the namespace opts in pods without the label.
	ByNamespace
)

// Outcome is the result of a review.
type Outcome string

const (
	Patched    Outcome = "patched"    // variables are added
	Observed   Outcome = "observed"   // the pod is annotated with what it would be given
	Skipped    Outcome = "skipped"    // opted in, but given nothing; annotated with the reason
	Unchanged  Outcome = "unchanged"  // an earlier review did all
	OptedOut   Outcome = "opted_out"  // not opted in, or a resize of a pod that is opted out
	Warned     Outcome = "warned"     // a resize leaves a variable stale
	Fine       Outcome = "fine"       // a resize leaves none stale
	Other      Outcome = "other"      // not a review of this kind
	Unreadable Outcome = "unreadable" // the review cannot be decoded
)

// Outcomes are all outcomes.
var Outcomes = []Outcome{Patched, Observed, Skipped, Unchanged, OptedOut, Warned, Fine, Other, Unreadable}

// Subject identifies the container of a program.
type Subject struct {
	Namespace, Workload, Container string
	Image                          string // as the pod names it
}

// Reviewer answers reviews. It is safe for concurrent use.
type Reviewer struct {
	Config *policy.Config
	// Program returns what is known about a container's program; nil = nothing is known. It
	// must not block.
	Program func(Subject) podpatch.Program
}

// answer is a response; the zero answer allows without a patch or warning.
type answer struct {
	uid      string
	patch    patch
	warnings []string
}

// Fit answers the review of a pod that is created.
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

const unreadable = "snug: the pod cannot be read and stays as it is"

// text returns an answer as JSON.
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
