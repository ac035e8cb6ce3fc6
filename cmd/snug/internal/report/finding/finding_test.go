// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "not a JSON document: it ends too early",
		"{]":                          "not a JSON document: invalid character ']' looking for beginning of object key string, byte 2",
		"[]":                          "not a document of snug v1: it is a list, not an object",
		`{"snug":1}`:                  "not a document of snug v1: snug is a number, not a string",
		"{}":                          `not a document of snug v1, "snug":""`,
		`{"snug":"v2","kind":"plan"}`: `not a document of snug v1, "snug":"v2"`,
		`{"snug":"v1","kind":"poem"}`: `"poem": unknown kind of document`,
		`{"snug":"v1","kind":"limits","cpu":[1]}`:                                                   "damaged document of kind limits: memory is missing",
		`{"snug":"v1","kind":"limits","cpu":[1],"memory":{}}`:                                       "damaged document of kind limits: cpu is a list, not an object",
		`{"snug":"v1","kind":"plan","gomaxprocs":{},"gomemlimit":{},"gogc":{"value_percent":"on"}}`: `damaged document of kind plan: gogc.value_percent is a string, not a whole number or "off"`,
		`{"snug":"v1","kind":"bench","cells":{}}`:                                                   "damaged document of kind bench: cells is an object, not a list",
		`{"snug":"v1","kind":"bench","cells":[{"gomaxprocs":true}]}`:                                "damaged document of kind bench: cells.gomaxprocs is true or false, not a number or a string",
		`{"snug":"v1","kind":"size","seconds":"x"}`:                                                 "damaged document of kind size: seconds is a string, not a number",
		`{"snug":"v1","kind":"size","seconds":1e999}`:                                               "damaged document of kind size: seconds is 1e999, not a number of 64 bits",
		`{"snug":"v1","kind":"size","seen":{"live_heap_bytes":"much","gomaxprocs":1}}`:              "damaged document of kind size: seen.live_heap_bytes is a string, not a number",
		`{"snug":"v1","kind":"size","seen":{"gomaxprocs":1.5}}`:                                     "damaged document of kind size: seen.gomaxprocs is 1.5, not a whole number of 64 bits",
		`{"snug":"v1","kind":"size","unseen":"x"}`:                                                  "damaged document of kind size: unseen is a string, not a list",
		`{"snug":"v1","kind":"size","collections":[]}`:                                              "damaged document of kind size: collections is a list, not a whole number",
	} {
		if d, err := Decode([]byte(text)); err == nil || d != nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, d, err, want)
		}
	}
}

// TestWrongTypes: no error names a type of Go, whichever field is of the wrong one.
func TestWrongTypes(t *testing.T) {
	for kind, of := range types {
		line, err := Encode(reflect.New(of).Interface().(Document))
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			for _, wrong := range []string{`{"a":[]}`, `[[{}]]`, `"x"`, `1.5`, `true`} {
				text := `{"snug":"v1","kind":"` + kind + `"`
				for _, part := range parts[kind] {
					if part != name {
						text += `,"` + part + `":` + string(fields[part])
					}
				}
				_, err := Decode([]byte(text + `,"` + name + `":` + wrong + `}`))
				if err != nil && (strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json:") || name != "snug" && name != "kind" && !strings.Contains(err.Error(), " is ")) {
					t.Errorf("%s, %s: %s: %v", kind, name, wrong, err)
				}
			}
		}
	}
}

func TestAmount(t *testing.T) {
	for text, want := range map[string]Amount{`100`: {N: 100}, `"off"`: {Off: true}, `9223372036854775806`: {N: 1<<63 - 2}} {
		var a Amount
		if err := json.Unmarshal([]byte(text), &a); err != nil || a != want {
			t.Errorf("%s: %v, %v", text, a, err)
		}
		if back, err := json.Marshal(a); err != nil || string(back) != text {
			t.Errorf("%v: %s, %v", a, back, err)
		}
	}
}

// TestHeadComesFirst holds the first fields of every document.
func TestHeadComesFirst(t *testing.T) {
	for _, d := range []Document{
		&Limits{Head: NewHead(KindLimits)}, &Plan{Head: NewHead(KindPlan)}, &Verdict{Head: NewHead(KindVerdict)},
		&Explanation{Head: NewHead(KindExplain)}, &Index{Head: NewHead(KindIndex)}, &Build{Head: NewHead(KindVersion)},
	} {
		line, err := Encode(d)
		if want := `{"snug":"v1","kind":"` + d.head().Kind + `",`; err != nil || !strings.HasPrefix(string(line), want) {
			t.Errorf("%s, %v, want %s", line, err, want)
		}
		if again, err := Decode(line); err != nil || again.head() != d.head() {
			t.Errorf("%s: read back %v, %v", line, again, err)
		}
	}
}
