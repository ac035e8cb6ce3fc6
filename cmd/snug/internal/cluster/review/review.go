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
// # Nothing is refused
//
// Every answer allows. A pod that cannot be read stays as it is, with a warning to its creator. A
// patch that does not apply would block the pod whatever the failurePolicy
// (k8s.io/apiserver/pkg/admission/plugin/webhook/mutating, callAttrMutatingHook), so a patch only
// adds below paths that are in the review.
package review

import (
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
	OptedOut   Outcome = "opted_out"  // not opted in
	Other      Outcome = "other"      // not a review of this kind
	Unreadable Outcome = "unreadable" // the review cannot be decoded
)

// Outcomes are all outcomes.
var Outcomes = []Outcome{Patched, Observed, Skipped, Unchanged, OptedOut, Other, Unreadable}

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
// Source: k8s.io/api/admission/v1, AdmissionResponse.
type answer struct {
	UID       string   `json:"uid"`
	Allowed   bool     `json:"allowed"`
	PatchType string   `json:"patchType,omitzero"`
	Patch     []byte   `json:"patch,omitzero"` // a JSON Patch, in base64
	Warnings  []string `json:"warnings,omitzero"`
}

// Fit answers the review of a pod that is created.
func (r *Reviewer) Fit(question []byte, by OptIn) ([]byte, Outcome) {
	q, a := read(question)
	if q == nil {
		return a.text(), Unreadable
	}
	if !q.isCreatedPod() {
		return a.text(), Other
	}
	p := q.Object
	if p == nil || p.Metadata == nil {
		a.Warnings = []string{unreadable}
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
	patch, done := r.fit(p, &about)
	if len(patch) > 0 {
		a.PatchType, a.Patch = "JSONPatch", text(patch)
	}
	return a.text(), done
}

const unreadable = "snug: the pod cannot be read and stays as it is"

// text returns the review with the answer.
func (a *answer) text() []byte {
	a.Allowed = true
	return text(struct {
		APIVersion string  `json:"apiVersion"`
		Kind       string  `json:"kind"`
		Response   *answer `json:"response"`
	}{"admission.k8s.io/v1", "AdmissionReview", a})
}
