// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
)

// State tells the three answers apart that a reader of limits can give.
type State uint8

const (
	// Unknown: it could not be read. It never widens or narrows a setting.
	Unknown State = iota
	// None: it was read, and there is no limit.
	None
	// Known: it was read, and the value holds.
	Known
)

// Value is a number that was read, a limit that is not there, or something
// that could not be read. The zero Value is unknown.
type Value[T int | int64 | float64] struct {
	N     T // meaningful only when State is Known
	State State
}

// String is the number, "none" or "unknown".
func (v Value[T]) String() string {
	switch v.State {
	case Known:
		return strconv.FormatFloat(float64(v.N), 'f', -1, 64)
	case None:
		return "none"
	}
	return "unknown"
}

// MarshalJSON is the number, "none" in quotes, or null for unknown; a number that JSON
// cannot say is unknown too.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	switch x := float64(v.N); {
	case v.State == None:
		return []byte(`"none"`), nil
	case v.State == Known && x-x == 0: // no NaN, no infinity
		if n := int64(v.N); T(n) == v.N {
			return strconv.AppendInt(nil, n, 10), nil
		}
		return strconv.AppendFloat(nil, x, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}

// Get returns the number, and whether there is one.
func (v Value[T]) Get() (T, bool) { return v.N, v.State == Known }

// Of makes a known Value.
func Of[T int | int64 | float64](n T) Value[T] { return Value[T]{n, Known} }

// NoLimit makes the Value that says there is no limit.
func NoLimit[T int | int64 | float64]() Value[T] { return Value[T]{State: None} }

// Min returns the tighter of two limits: the smaller number where both have
// one, the one that has a number, none where both say none. Unknown gives way
// to a number (a limit that was seen holds whatever else is hidden) but not to
// none (what is hidden may be a limit).
func Min[T int | int64 | float64](a, b Value[T]) Value[T] {
	switch {
	case a.State == Known && b.State == Known:
		return Of(min(a.N, b.N))
	case a.State == Known:
		return a
	case b.State == Known:
		return b
	case a.State == None && b.State == None:
		return a
	}
	return Value[T]{}
}

// tighten takes one more level's limit into account and reports whether it is
// the tightest so far. One that is unknown may be a limit where there was none.
func (v *Value[T]) tighten(by Value[T]) bool {
	if by.State == Known && (v.State != Known || by.N < v.N) {
		*v = by
		return true
	}
	if by.State == Unknown && v.State == None {
		v.State = Unknown
	}
	return false
}

// sized is a number that was read, or unknown.
func sized(n int64, ok bool) Value[int64] {
	if !ok {
		return Value[int64]{}
	}
	return Of(n)
}

// limitOf is what the file of a memory limit says.
func limitOf(text []byte) Value[int64] {
	n, state := cgroup.Bytes(text)
	return Value[int64]{n, State(state)}
}

// Source says where a number came from.
type Source struct {
	File  string // the file, from the root of the tree that was read; "" when no file set it
	Level string // the cgroup path the file belongs to, as the reader's namespace names it
	Raw   string // the file's text without its newline; v1's quota and period are two files, joined by a space
}

// Gap is one figure that could not be read, or that may be tighter than shown
// because one level of it could not be read.
type Gap struct {
	Field string // as in the JSON document: "cpu.quota_cores", "memory.hard_bytes", ...
	File  string
	Why   string
	// Other: the figure was read elsewhere. A mount that should show the same cgroup
	// does not, and nothing is known to be missing.
	Other bool
}

// Warning is something a reader of the figures should know. Codes are stable;
// `snug explain CODE` says what each means. Source is what it is about: a file,
// or an environment variable as File with its value as Raw.
type Warning struct {
	Code string
	Source
}

// The warnings that reading can give.
const (
	WarnQuotaCrashesGo    = "quota-crashes-go"   // a quota that plain Go 1.25 to 1.27 programs do not survive
	WarnCgroupDeleted     = "cgroup-deleted"     // the process's own cgroup is gone
	WarnCgroupUnreachable = "cgroup-unreachable" // no mount shows the process's own cgroup
	WarnMemoryLimitZero   = "memory-limit-zero"  // a memory limit of 0 bytes: nothing can be sized by it
	WarnQuotaTorn         = "quota-torn"         // v1's quota changed each time it was read beside its period
)
