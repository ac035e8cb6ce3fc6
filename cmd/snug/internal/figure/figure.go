// SPDX-License-Identifier: Apache-2.0

// Package figure holds the type in which a figure travels from where it is read to where it
// is judged and shown: a number, none, or unknown, with its source or the reason.
package figure

import (
	"encoding/json"

	"github.com/snug-go/snug/limits"
)

// Of is a figure. The zero Of is unknown.
type Of[T any] struct {
	// N is valid only if State is limits.Known.
	N T
	// State is limits.Known, limits.None (there is no limit) or limits.Unknown.
	State limits.State
	// Source is where a figure that is known or none comes from: a file,
	// "/proc/4711/mem, 11/11 votes", "perf, 646 samples". Raw is its text there; "" = no text.
	Source, Raw string
	// Why says on one line why the figure is unknown; "" = no reason known, or not unknown.
	Why string
}

// New returns a known figure.
func New[T any](n T, source string) Of[T] { return Of[T]{N: n, State: limits.Known, Source: source} }

// None returns the figure for a limit that is not set.
func None[T any](source string) Of[T] { return Of[T]{State: limits.None, Source: source} }

// Known reports whether the figure is a number.
func (f Of[T]) Known() bool { return f.State == limits.Known }

// Read reports whether the figure was read: it is a number or none.
func (f Of[T]) Read() bool { return f.State != limits.Unknown }

// Get returns the number, and reports whether there is one.
func (f Of[T]) Get() (T, bool) { return f.N, f.Known() }

// Ptr returns the number for a document. It is nil both for none and for unknown; documents
// list the unknown figures.
func (f Of[T]) Ptr() *T {
	if !f.Known() {
		return nil
	}
	return &f.N
}

// Know makes the figure known.
func (f *Of[T]) Know(n T, source string) { *f = New(n, source) }

// Because sets the reason of an unknown figure that has none.
func (f *Of[T]) Because(why string) {
	if !f.Read() && f.Why == "" {
		f.Why = why
	}
}

// Number lists the types of numbers.
type Number interface {
	~int | ~int64 | ~uint32 | ~uint64 | ~float64
}

// Float converts a figure to float64, as rules use it.
func Float[T Number](f Of[T]) Of[float64] {
	return Of[float64]{N: float64(f.N), State: f.State, Source: f.Source, Raw: f.Raw, Why: f.Why}
}

// Limit returns the figure for a limit of package limits and the file that sets it.
func Limit[T int | int64 | float64](v limits.Value[T], from limits.Source) Of[float64] {
	f := Of[float64]{N: float64(v.N), State: v.State}
	if v.State == limits.Known {
		f.Source, f.Raw = from.File, from.Raw
	}
	return f
}

// inJSON is the JSON form of a figure: {} is unknown.
type inJSON[T any] struct {
	N      *T     `json:"v,omitempty"`
	None   bool   `json:"none,omitempty"`
	Source string `json:"source,omitempty"`
	Raw    string `json:"raw,omitempty"`
	Why    string `json:"why,omitempty"`
}

// MarshalJSON writes {"v":2,"source":"/sys/fs/cgroup/cpu.max","raw":"200000 100000"}, {"none":true}
// or {"why":"permission denied"}.
func (f Of[T]) MarshalJSON() ([]byte, error) {
	return json.Marshal(inJSON[T]{f.Ptr(), f.State == limits.None, f.Source, f.Raw, f.Why})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Of[T]) UnmarshalJSON(text []byte) error {
	var j inJSON[T]
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*f = Of[T]{Source: j.Source, Raw: j.Raw, Why: j.Why}
	switch {
	case j.N != nil:
		f.N, f.State = *j.N, limits.Known
	case j.None:
		f.State = limits.None
	}
	return nil
}
