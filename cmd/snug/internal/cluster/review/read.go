// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"

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
		OldObject   *pod.Pod `json:"oldObject"`
	}
)

// maxMembers bounds the members of all objects in a review, because the check for duplicate names
// takes more memory than the text. maxMarks bounds colons, including those in strings, and
// braces: an annotation may have 262,144 of either.
const (
	maxMembers = 100_000
	maxMarks   = 400_000
)

// bounded reports whether a review is within the bounds for decoding. Most are too short to exceed
// them: `":` takes two bytes.
func bounded(question []byte) bool {
	return len(question) <= min(2*maxMembers, maxMarks) || bytes.Count(question, []byte(`":`)) <= maxMembers && bytes.Count(question, []byte(":")) <= maxMarks && bytes.Count(question, []byte("{")) <= maxMarks
}

// read decodes a review; the request is nil if that fails. The answer has the UID, and then a
// warning.
func read(question []byte) (*request, *answer) {
	var e envelope
	if bounded(question) && json.Unmarshal(question, &e) == nil &&
		e.APIVersion == "admission.k8s.io/v1" && e.Kind == "AdmissionReview" && e.Request != nil && e.Request.sound() {
		return e.Request, &answer{uid: e.Request.UID}
	}
	return nil, &answer{uid: uidOf(question), warnings: []string{unreadable}}
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
	return pod.Short(q.UID) && pod.Short(q.Namespace) && (q.Object == nil || q.Object.Sound()) && (q.OldObject == nil || q.OldObject.Sound())
}

// isPods reports whether a request is an operation on pods, or on a subresource of them.
func (q *request) isPods(subresource, operation string) bool {
	return q.Resource.Group == "" && q.Resource.Resource == "pods" && q.SubResource == subresource && q.Operation == operation
}
