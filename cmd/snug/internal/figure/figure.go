// SPDX-License-Identifier: Apache-2.0

// Package figure has the one form in which a figure goes from where it is read to where it is
// judged and shown: a number, none, or unknown, with its source or the reason.
package figure

import (
	"encoding/json"

	"github.com/snug-go/snug/limits"
)

// Of is a figure. The zero Of is unknown.
type Of[T any] struct {
	// N means something only where State is Known.
	N T
	// State is limits.Known, limits.None (there is no limit) or limits.Unknown.
	State limits.State
	// Source is where a known figure or none comes from: a file, "/proc/4711/mem, 11/11 votes",
	// "perf, 646 samples". Raw is its text there; "" where it has none.
	Source, Raw string
	// Why says on one line why it is unknown; "" where nothing more is known, or where it is
	// not unknown.
	Why string
}

// New is a known figure.
func New[T any](n T, source string) Of[T] { return Of[T]{N: n, State: limits.Known, Source: source} }

// None is that of a limit that there is not.
func None[T any](source string) Of[T] { return Of[T]{State: limits.None, Source: source} }

// Known reports whether there is a number.
func (f Of[T]) Known() bool { return f.State == limits.Known }

// Read reports whether it was read: a number, or none.
func (f Of[T]) Read() bool { return f.State != limits.Unknown }

// Get is the number, and whether there is one.
func (f Of[T]) Get() (T, bool) { return f.N, f.Known() }

// Ptr is the number as documents have it: nil for none as well as for unknown, which they
// list.
func (f Of[T]) Ptr() *T {
	if !f.Known() {
		return nil
	}
	return &f.N
}

// Know makes it known.
func (f *Of[T]) Know(n T, source string) { *f = New(n, source) }

// Because gives an unknown figure a reason, unless it has one.
func (f *Of[T]) Because(why string) {
	if !f.Read() && f.Why == "" {
		f.Why = why
	}
}

// Number is what can be counted in.
type Number interface {
	~int | ~int64 | ~uint32 | ~uint64 | ~float64
}

// Float is the figure as rules reckon with it.
func Float[T Number](f Of[T]) Of[float64] {
	return Of[float64]{N: float64(f.N), State: f.State, Source: f.Source, Raw: f.Raw, Why: f.Why}
}

// Limit is a limit of package limits with the file that sets it.
func Limit[T int | int64 | float64](v limits.Value[T], from limits.Source) Of[float64] {
	f := Of[float64]{N: float64(v.N), State: v.State}
	if v.State == limits.Known {
		f.Source, f.Raw = from.File, from.Raw
	}
	return f
}

// inJSON is a figure in JSON: {} is unknown.
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
