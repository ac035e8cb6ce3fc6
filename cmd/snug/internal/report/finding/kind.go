// SPDX-License-Identifier: Apache-2.0

package finding

import "reflect"

// The kinds of documents.
const (
	KindLimits     = "limits"
	KindPlan       = "plan"
	KindVerdict    = "verdict"
	KindExplain    = "explain"
	KindIndex      = "index"
	KindVersion    = "version"
	KindBench      = "bench"
	KindTune       = "tune"
	KindPS         = "ps"
	KindDoctor     = "doctor"
	KindProfile    = "profile"
	KindHeap       = "heap"
	KindGoroutines = "goroutines"
	KindVet        = "vet"
	KindTrace      = "trace"
	KindTop        = "top"
	KindAgent      = "agent"
	KindFleet      = "fleet"
	KindSize       = "size"
	KindLint       = "lint"
	KindCheck      = "check"
	KindError      = "error"
	KindPolicy     = "policy"
	KindGiven      = "given"

	KindProfileDiff = "profile-diff"
	KindDoctorDiff  = "doctor-diff"
	KindFleetDoctor = "fleet-doctor"
	KindFleetSize   = "fleet-size"
)

// Document is one complete answer: a pointer to the type of a kind.
type Document interface{ head() Head }

// types are the types of all kinds.
var types = map[string]reflect.Type{
	KindLimits:     reflect.TypeFor[Limits](),
	KindPlan:       reflect.TypeFor[Plan](),
	KindVerdict:    reflect.TypeFor[Verdict](),
	KindExplain:    reflect.TypeFor[Explanation](),
	KindIndex:      reflect.TypeFor[Index](),
	KindVersion:    reflect.TypeFor[Build](),
	KindBench:      reflect.TypeFor[Bench](),
	KindTune:       reflect.TypeFor[Tune](),
	KindPS:         reflect.TypeFor[PS](),
	KindDoctor:     reflect.TypeFor[Doctor](),
	KindProfile:    reflect.TypeFor[Profile](),
	KindHeap:       reflect.TypeFor[Heap](),
	KindGoroutines: reflect.TypeFor[Goroutines](),
	KindVet:        reflect.TypeFor[Vet](),
	KindTrace:      reflect.TypeFor[Trace](),
	KindTop:        reflect.TypeFor[Watch](),
	KindAgent:      reflect.TypeFor[Node](),
	KindFleet:      reflect.TypeFor[Fleet](),
	KindSize:       reflect.TypeFor[Size](),
	KindLint:       reflect.TypeFor[Lint](),
	KindCheck:      reflect.TypeFor[Check](),
	KindError:      reflect.TypeFor[Error](),
	KindPolicy:     reflect.TypeFor[Policy](),
	KindGiven:      reflect.TypeFor[Given](),

	KindProfileDiff: reflect.TypeFor[ProfileDiff](),
	KindDoctorDiff:  reflect.TypeFor[DoctorDiff](),
	KindFleetDoctor: reflect.TypeFor[FleetDoctor](),
	KindFleetSize:   reflect.TypeFor[FleetSize](),
}

// parts are the fields that hold the answer of a kind, if it is no list. A document without one is
// damaged: an absent limit must not read as none.
var parts = map[string][]string{
	KindLimits:  {"cpu", "memory"},
	KindPlan:    {"gomaxprocs", "gomemlimit", "gogc"},
	KindExplain: {"id", "text"},
	KindVersion: {"version"},
	KindPolicy:  {"yaml"},
	KindError:   {"error", "exit_code"},
	KindTune:    {"baseline"},
}

// present reports whether a field has a value other than null.
type present bool

func (p *present) UnmarshalJSON(text []byte) error {
	*p = string(text) != "null"
	return nil
}

// KindOf returns the kind of a document's type, as in its JSON.
func KindOf(d Document) string {
	for kind, t := range types {
		if reflect.TypeOf(d) == reflect.PointerTo(t) {
			return kind
		}
	}
	return "unknown"
}
