// SPDX-License-Identifier: Apache-2.0

// Package figure holds the type in which a figure travels from where it is read to where it
// is judged and shown: a number, none, or unknown, with its source or the reason.
package figure

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"

	"github.com/snug-go/snug/limits"
)

// Of is a figure. The zero Of is unknown.
type Of[T any] struct {
	// N is valid only if State is limits.Known.
	N T
	// State is limits.Known, limits.None (there is no limit) or limits.Unknown.
	State limits.State
	// Source is where the figure comes from, or where it was looked for: a file,
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

// Know makes the figure known.
func (f *Of[T]) Know(n T, source string) { *f = New(n, source) }

// Unknown makes the figure unknown: why it could not be read from source.
func (f *Of[T]) Unknown(source, why string) { *f = Of[T]{Source: source, Why: why} }

// None makes the figure none.
func (f *Of[T]) None() { *f = Of[T]{State: limits.None, Source: f.Source, Raw: f.Raw} }

// Unread returns where an unknown figure was looked for and why it is unknown; ok is false for
// all others.
func (f Of[T]) Unread() (source, why string, ok bool) { return f.Source, f.Why, !f.Read() }

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

// As converts the number of a figure. A number above those of an int64 becomes the largest one.
func As[To, From Number](f Of[From]) Of[To] {
	n := To(f.N)
	if (n < 0) != (f.N < 0) {
		n = To(min(uint64(f.N), math.MaxInt64))
	}
	return Of[To]{N: n, State: f.State, Source: f.Source, Raw: f.Raw, Why: f.Why}
}

// Value returns the figure for a value of package limits.
func Value[T int | int64 | float64](v limits.Value[T]) Of[T] { return Of[T]{N: v.N, State: v.State} }

// Limit is Value for a limit and the file that sets it.
func Limit[T int | int64 | float64](v limits.Value[T], from limits.Source) Of[T] {
	f := Value(v)
	if f.Known() {
		f.Source, f.Raw = from.File, from.Raw
	}
	return f
}

// Compare compares numbers; none and unknown sort first.
func Compare[T cmp.Ordered](a, b Of[T]) int {
	switch {
	case !a.Known() && !b.Known():
		return 0
	case !a.Known():
		return -1
	case !b.Known():
		return 1
	}
	return cmp.Compare(a.N, b.N)
}

// none is the JSON of a figure for a limit that is not set, or of one that does not apply.
const none = `"none"`

// MarshalJSON writes the figure as documents hold it: the number, "none", or null for an unknown
// one. Documents list the unknown ones, with the reason.
func (f Of[T]) MarshalJSON() ([]byte, error) {
	switch f.State {
	case limits.None:
		return []byte(none), nil
	case limits.Unknown:
		return []byte("null"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as the document's own encoder
	err := e.Encode(f.N)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Of[T]) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case none:
		*f = Of[T]{State: limits.None}
		return nil
	case "null":
		*f = Of[T]{}
		return nil
	}
	*f = Of[T]{State: limits.Known}
	return json.Unmarshal(text, &f.N)
}
