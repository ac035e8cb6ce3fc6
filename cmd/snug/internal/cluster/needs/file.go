// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"encoding/json"
	"errors"
	"time"
)

const (
	// MaxWorkloads bounds the workloads of a node.
	MaxWorkloads = 200
	// MaxBytes bounds a document: MaxWorkloads whose sketches are full take 5 MB, usual ones a tenth.
	MaxBytes = 6 << 20
	// version changes when older documents cannot be read.
	version = 1
	kind    = "snug-needs"
)

// Document is what an agent has seen of the workloads of its node: its answer, and its file.
type Document struct {
	Kind      string      `json:"kind"`
	Version   int         `json:"version"`
	Node      string      `json:"node"` // "" = unknown
	At        time.Time   `json:"at"`   // of the last scan
	Workloads []*Workload `json:"workloads"`
	LeftOut   int         `json:"left_out"` // workloads of the last scan that are not kept, because there are too many
	Nameless  int         `json:"nameless"` // containers of the last scan whose workload is unknown
}

// Encode writes the document. If the clock was set back, what was first seen after it was last seen was first seen
// then.
func (d *Document) Encode() ([]byte, error) {
	d.Kind, d.Version = kind, version
	for _, w := range d.Workloads {
		if w.First.After(w.Last) {
			w.First = w.Last
		}
	}
	return json.Marshal(d)
}

// Errors of Decode.
var (
	ErrForeign = errors.New("it is not what an agent has kept of workloads")
	ErrVersion = errors.New("another version of snug has written it")
	ErrBroken  = errors.New("it is damaged")
)

// Decode reads a document, at most MaxBytes. It fails with one of the errors above.
func Decode(text []byte) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, ErrForeign
	}
	var head struct {
		Kind    string
		Version int
	}
	err := json.Unmarshal(text, &head)
	var syntax *json.SyntaxError
	switch {
	case head.Kind != kind && !errors.As(err, &syntax):
		return nil, ErrForeign
	case err != nil:
		return nil, ErrBroken
	case head.Version != version:
		return nil, ErrVersion
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil || len(d.Workloads) > MaxWorkloads {
		return nil, ErrBroken
	}
	for _, w := range d.Workloads {
		if w == nil || !w.valid() {
			return nil, ErrBroken
		}
	}
	return d, nil
}

func (w *Workload) valid() bool {
	for _, s := range w.sketches() {
		if !s.valid() {
			return false
		}
	}
	h := &w.Has
	for _, a := range [...]*Amount{&h.Limit, &h.Request, &h.Quota} {
		for _, n := range [...]float64{a.Sum, a.Least, a.Most} {
			if !(n >= 0 && n <= most) {
				return false
			}
		}
		if !counts(a.N) || !counts(a.None) {
			return false
		}
	}
	for _, n := range w.sums() {
		if !(*n >= 0 && *n <= maxSum) {
			return false
		}
	}
	for _, n := range [...]int{h.Containers, w.Mates, h.Minor, h.CPUs, h.Procs} {
		if !counts(n) {
			return false
		}
	}
	for _, n := range [...]float64{w.Seen, w.Every} {
		if !(n >= 0 && n <= maxSum) {
			return false
		}
	}
	return !w.First.After(w.Last) && h.Bound >= 0 && len(w.Why) <= maxWhy
}

// counts reports whether n can be a number of things on a node.
func counts(n int) bool { return n >= 0 && n <= 1<<24 }

// maxWhy bounds a reason in bytes.
const maxWhy = 300
