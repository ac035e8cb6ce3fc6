// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// What is read of an AdmissionReview. Source: k8s.io/api/admission/v1.
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

// mostMembers bounds the members of all objects in a question, because to know that no name
// comes twice takes more memory than the text. mostMarks bounds colons, those in texts
// included, and objects: an annotation may have 262,144 of either.
const (
	mostMembers = 100_000
	mostMarks   = 400_000
)

// bounded reports whether a question is one that may be decoded.
func bounded(question []byte) bool {
	return bytes.Count(question, []byte(`":`)) <= mostMembers && bytes.Count(question, []byte(":")) <= mostMarks && bytes.Count(question, []byte("{")) <= mostMarks
}

// read reads a question; nil where it cannot be read. The answer is ready but for what it
// says.
func read(question []byte) (*request, *answer) {
	var e envelope
	if bounded(question) && json.Unmarshal(question, &e) == nil &&
		e.APIVersion == "admission.k8s.io/v1" && e.Kind == "AdmissionReview" && e.Request != nil && e.Request.sound() {
		return e.Request, &answer{uid: e.Request.UID}
	}
	return nil, &answer{uid: uidOf(question), warnings: []string{unreadable}}
}

// uidOf is the UID of a question that makes no sense: the answer has to have the same.
func uidOf(question []byte) string {
	var e struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	_ = json.Unmarshal(question, &e, jsontext.AllowDuplicateNames(true)) // it is read as far as it goes
	if !pod.Short(e.Request.UID) {
		return ""
	}
	return e.Request.UID
}

// sound tells whether a question is about something that can be.
func (q *request) sound() bool {
	return pod.Short(q.UID) && pod.Short(q.Namespace) && (q.Object == nil || q.Object.Sound()) && (q.OldObject == nil || q.OldObject.Sound())
}

// isPods tells whether a question is about pods, or a resource below them.
func (q *request) isPods(subresource, operation string) bool {
	return q.Resource.Group == "" && q.Resource.Resource == "pods" && q.SubResource == subresource && q.Operation == operation
}
