// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"time"
)

const (
	// MaxWorkloads bounds the workloads of a node.
	MaxWorkloads = 200
	// MaxBytes bounds a document: MaxWorkloads whose sketches are full take 0.7 MB, usual ones a third.
	MaxBytes = 2 << 20
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

// Encode writes the document.
func (d *Document) Encode() ([]byte, error) {
	d.Kind, d.Version = kind, version
	return json.Marshal(d)
}

// Errors of Decode.
var (
	ErrForeign = errors.New("it is not what an agent has kept of workloads")
	ErrVersion = errors.New("another version of snug has written it")
	ErrBroken  = errors.New("it is damaged")
)

// Decode reads a document, at most MaxBytes. It fails with one of the errors above, or that of r.
func Decode(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	var head struct {
		Kind    string
		Version int
	}
	if len(text) <= MaxBytes {
		err = json.Unmarshal(text, &head)
	}
	var syntax *json.SyntaxError
	switch {
	case len(text) > MaxBytes, head.Kind != kind && !errors.As(err, &syntax):
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
	for _, n := range append(w.amounts(), w.Seen, w.Every) {
		if !(n >= 0) || math.IsInf(n, 0) {
			return false
		}
	}
	return !w.First.After(w.Last) && w.Has.Containers >= 0 && w.Mates >= 0 && len(w.Why) <= maxWhy
}

// maxWhy bounds a reason in bytes.
const maxWhy = 300

func (w *Workload) amounts() (all []float64) {
	for _, n := range w.sums() {
		all = append(all, *n)
	}
	for _, a := range [...]Amount{w.Has.Limit, w.Has.Request, w.Has.Quota} {
		all = append(all, float64(a.N), float64(a.None), a.Sum, a.Least, a.Most)
	}
	return all
}
