// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
)

// State distinguishes the three results of reading a limit.
type State uint8

const (
	// Unknown: it could not be read. It never widens or narrows a setting.
	Unknown State = iota
	// None: it was read, and there is no limit.
	None
	// Known: it was read, and the value holds.
	Known
)

// Value is a number that was read, the absence of a limit, or something that could not be
// read. The zero Value is unknown.
type Value[T int | int64 | float64] struct {
	N     T // meaningful only if State is Known
	State State
}

// String returns the number, "none" or "unknown".
func (v Value[T]) String() string {
	switch v.State {
	case Known:
		return strconv.FormatFloat(float64(v.N), 'f', -1, 64)
	case None:
		return "none"
	}
	return "unknown"
}

// MarshalJSON returns the number, "none" in quotes, or null for unknown and for a number
// that JSON cannot represent.
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

// Get returns the number and whether it is known.
func (v Value[T]) Get() (T, bool) { return v.N, v.State == Known }

// Of returns a known Value.
func Of[T int | int64 | float64](n T) Value[T] { return Value[T]{n, Known} }

// NoLimit returns the Value for no limit.
func NoLimit[T int | int64 | float64]() Value[T] { return Value[T]{State: None} }

// Min returns the tighter of two limits: the smaller number, the only number, or none if both
// are none. A number wins over unknown, because a limit that was read holds whatever else is
// hidden. Unknown wins over none, because what is hidden may be a limit.
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

// tighten applies one more level's limit and reports whether it is the tightest so far. An
// unknown one may be a limit, so it turns none into unknown.
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

// valueOf returns n as a Value, unknown if ok is false.
func valueOf(n int64, ok bool) Value[int64] {
	if !ok {
		return Value[int64]{}
	}
	return Of(n)
}

// limitOf parses the file of a memory limit.
func limitOf(text []byte) Value[int64] {
	n, state := cgroup.Bytes(text)
	return Value[int64]{n, State(state)}
}

// Source says where a number came from.
type Source struct {
	File  string // the file, from the root of the tree that was read; "" if no file set it
	Level string // the cgroup path of the file, as the reader's namespace names it; "lxcfs" for its /proc/meminfo
	Raw   string // the file's text without its newline; v1's quota and period are two files, joined by a space
}

// Gap is a figure that could not be read, or that may be tighter than shown because one of its
// levels could not be read.
type Gap struct {
	Field string // as in the JSON document: "cpu.quota_cores", "memory.hard_bytes", ...
	File  string
	Why   string
	// Redundant: the figure was read through another mount. This one should show the same cgroup
	// and does not, but nothing is known to be missing.
	Redundant bool
}

// Warning is something you should know about the figures. Codes are stable; `snug explain CODE`
// says what each means. Source is its subject: a file, or an environment variable as File with
// its value as Raw.
type Warning struct {
	Code string
	Source
	Number float64 // what the subject does not fit, in cores or bytes; 0 if the code compares nothing
}

// The warnings from reading limits.
const (
	WarnQuotaCrashesGo    = "quota-crashes-go"   // a quota that crashes plain programs of Go 1.25 to 1.27
	WarnCgroupDeleted     = "cgroup-deleted"     // the process's own cgroup is gone
	WarnCgroupUnreachable = "cgroup-unreachable" // no mount shows the process's own cgroup
	WarnMemoryLimitZero   = "memory-limit-zero"  // a memory limit of 0 bytes: nothing can be sized by it
	WarnQuotaTorn         = "quota-torn"         // v1's quota changed each time its period was read
)
