// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "not a JSON document",
		"[]":                          "not a JSON document",
		"{}":                          `not a document of snug v1, "snug":""`,
		`{"snug":"v2","kind":"plan"}`: `not a document of snug v1, "snug":"v2"`,
		`{"snug":"v1","kind":"poem"}`: `unknown kind of document, "poem"`,
		`{"snug":"v1","kind":"limits","cpu":[1]}`:                   "damaged document of kind limits",
		`{"snug":"v1","kind":"plan","gogc":{"value_percent":"on"}}`: "damaged document of kind plan",
	} {
		if d, err := Decode([]byte(text)); err == nil || d != nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, d, err, want)
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
