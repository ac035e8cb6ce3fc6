// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// The fields of an AdmissionReview that are used. Source: k8s.io/api/admission/v1.
type (
	envelope struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Request    *request `json:"request"`
	}
	request struct {
		UID      string `json:"uid"`
		Resource struct {
			Group    string `json:"group"`
			Resource string `json:"resource"`
		} `json:"resource"`
		SubResource string   `json:"subResource"`
		Operation   string   `json:"operation"`
		Namespace   string   `json:"namespace"`
		Object      *pod.Pod `json:"object"`
	}
)

// maxMembers bounds the members of all objects in a review, because the check for duplicate names
// takes more memory than the text. maxMarks bounds colons, including those in strings, and
// braces: an annotation may have 262,144 of either.
const (
	maxMembers = 100_000
	maxMarks   = 400_000
)

// bounded reports whether a review is within the bounds for decoding.
func bounded(question []byte) bool {
	atMost := func(n int, mark string) bool { return bytes.Count(question, []byte(mark)) <= n }
	return atMost(maxMembers, `":`) && atMost(maxMarks, ":") && atMost(maxMarks, "{")
}

// read decodes a review; the request is nil if that fails. The answer has the UID, and then a
// warning.
func read(question []byte) (*request, *answer) {
	var e envelope
	if bounded(question) && json.Unmarshal(question, &e) == nil &&
		e.APIVersion == "admission.k8s.io/v1" && e.Kind == "AdmissionReview" && e.Request != nil && e.Request.sound() {
		return e.Request, &answer{UID: e.Request.UID}
	}
	return nil, &answer{UID: uidOf(question), Warnings: []string{unreadable}}
}

// uidOf returns the UID of a review that cannot be decoded, because the answer must have it.
func uidOf(question []byte) string {
	var e struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	_ = json.Unmarshal(question, &e, jsontext.AllowDuplicateNames(true)) // decoded up to the first error
	if !pod.Short(e.Request.UID) {
		return ""
	}
	return e.Request.UID
}

// sound reports whether the names and lists of a request are within bounds.
func (q *request) sound() bool {
	return pod.Short(q.UID) && pod.Short(q.Namespace) && (q.Object == nil || q.Object.Sound())
}

// isCreatedPod reports whether a request creates a pod.
func (q *request) isCreatedPod() bool {
	pods := q.Resource.Group == "" && q.Resource.Resource == "pods"
	return pods && q.SubResource == "" && q.Operation == "CREATE"
}

// patch is a JSON Patch (RFC 6902).
type patch []operation

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"` // not from the review
	Value any    `json:"value,omitzero"`
}

// add adds a value, in place of an existing member.
func (p *patch) add(path string, value any) { *p = append(*p, operation{"add", path, value}) }

// extend adds elements to a list of a container: one operation for each, or one for all if the list is missing.
func extend[T any](p *patch, there bool, list string, elements []T) {
	if !there && len(elements) > 0 {
		p.add(list, elements)
		return
	}
	for _, e := range elements {
		p.add(list+"/-", e)
	}
}

// variable is an element of env.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitzero"`
	From  *from  `json:"valueFrom,omitzero"`
}

type from struct {
	Resource reference `json:"resourceFieldRef"`
}

type reference struct {
	Resource string `json:"resource"`
	Divisor  string `json:"divisor"`
}

// resizing is an element of resizePolicy.
type resizing struct {
	Resource string `json:"resourceName"`
	Policy   string `json:"restartPolicy"`
}

// text returns a value as JSON.
func text(value any) []byte {
	b, _ := json.Marshal(value, jsontext.AllowInvalidUTF8(true)) // never fails for these types
	return b
}

// pointer escapes a name for a JSON Pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
