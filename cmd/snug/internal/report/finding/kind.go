// SPDX-License-Identifier: Apache-2.0

package finding

import (
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

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

// schemas holds a JSON Schema for each struct of the documents, by name. A test makes it from the types and their
// comments.
//
//go:embed schema.json
var schemas []byte

const reference = "#/$defs/"

// Kinds returns the kinds of documents, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(types)) }

// Schema returns the JSON Schema (draft 2020-12) of a kind of document, indented; "" if there is
// no such kind.
func Schema(kind string) string {
	t := types[kind]
	if t == nil {
		return ""
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(schemas, &all); err != nil {
		panic(err) // a test reads it
	}
	used := map[string]any{}
	var use func(name string)
	use = func(name string) {
		if used[name] != nil {
			return
		}
		used[name] = all[name]
		each(all[name], use)
	}
	schema := maps.Clone(all[t.Name()])
	each(schema, use)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	if len(used) > 0 {
		schema["$defs"] = used
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// About returns what each kind of document is, in sentences: the description in its schema.
func About() map[string]string {
	var all map[string]struct {
		Description string `json:"description"`
	}
	if err := json.Unmarshal(schemas, &all); err != nil {
		panic(err) // a test reads it
	}
	about := map[string]string{}
	for kind, t := range types {
		about[kind] = all[t.Name()].Description
	}
	return about
}

// each calls use for the name of each definition that a schema refers to.
func each(schema any, use func(name string)) {
	switch v := schema.(type) {
	case map[string]any:
		for key, value := range v {
			if to, ok := value.(string); ok && key == "$ref" {
				use(strings.TrimPrefix(to, reference))
			}
			each(value, use)
		}
	case []any:
		for _, value := range v {
			each(value, use)
		}
	}
}
