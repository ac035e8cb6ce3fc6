// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// objects parses lines of JSON.
func objects(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for _, line := range strings.SplitAfter(text, "\n") {
		if line == "" {
			continue
		}
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil || len(line) >= 4096 {
			t.Fatalf("%v, %d bytes: %q", err, len(line), line)
		}
		all = append(all, o)
	}
	return all
}

// TestLogJSON: each line is an object with the facts of the text.
func TestLogJSON(t *testing.T) {
	t.Setenv("SNUG_LOG", "json")
	source := limits.Source{File: "/f", Level: "/", Raw: "150000 100000"}
	left := plan.Setting{Leave: true, Reason: plan.Reason{Code: plan.NoLimit}}
	in := plan.Input{Limits: limits.Limits{Gaps: []limits.Gap{{Field: "field", File: "/g", Why: "why"}, {Field: "field", File: "/h", Why: "why", Redundant: true}}}}
	bad := limits.Warning{Code: plan.EnvUnknown, Source: limits.Source{File: "SNUG_MAXPROCS"}}
	type m = map[string]any
	got := objects(t, said(t, func() {
		Log(&in, &plan.Plan{GOMAXPROCS: plan.Setting{Value: 2, Reason: plan.Reason{Code: "quota-ceil", Source: source}}, GOMEMLIMIT: left,
			Warnings: []limits.Warning{{Code: "of", Source: source}, bad}}, apply.Result{GOMAXPROCS: apply.Set})
		LogSetting("GOMEMLIMIT", &left, apply.Set)
		LogPressure("tight", 12.34)
		LogPressure("calm", math.Inf(1))
		Say("stopped", "stopped following: a \"panic\"\n")
		Complain([]limits.Warning{bad, bad, bad, bad, bad, bad, bad})
	}))
	complaint := m{"snug": "warning", "code": "env-unknown", "file": "SNUG_MAXPROCS"}
	want := []m{
		{"snug": "decision", "knob": "GOMAXPROCS", "value": 2.0, "did": "set", "reason": "quota-ceil", "file": "/f", "raw": "150000 100000"},
		{"snug": "decision", "knob": "GOMEMLIMIT", "did": "left", "reason": "no-limit"},
		{"snug": "warning", "code": "of", "file": "/f", "raw": "150000 100000"},
		complaint,
		{"snug": "unknown", "field": "field", "file": "/g", "why": "why"},
		{"snug": "decision", "knob": "GOMEMLIMIT", "did": "restored", "reason": "no-limit"},
		{"snug": "pressure", "level": "tight", "effective_gogc_percent": 12.3},
		{"snug": "pressure", "level": "calm", "effective_gogc_percent": float64(math.MaxInt32)},
		{"snug": "stopped", "text": "stopped following: a \"panic\"?"},
		complaint, complaint, complaint, complaint, complaint,
		{"snug": "warning", "text": "and 2 more variables"},
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("line %d of %v, want %v", i, got, want)
		}
	}
}

// TestPut: whatever a file or a variable has, the text is JSON in ASCII.
func TestPut(t *testing.T) {
	check := func(text string) string {
		t.Helper()
		b := lines{json: true}
		b.put(`"`, text)
		q := b.text + `"`
		var back string
		if err := json.Unmarshal([]byte(q), &back); err != nil {
			t.Fatalf("%q: %v: %s", text, err, q)
		}
		want := []byte(text)
		for i, c := range want {
			if c < ' ' || c > '~' {
				want[i] = '?'
			}
		}
		if back != string(want) && (len(q) < 1000 || !strings.HasPrefix(string(want), strings.TrimSuffix(back, "..."))) {
			t.Fatalf("%q: %q, want %q", text, back, want)
		}
		return q
	}
	for text, want := range map[string]string{
		"":                   `""`,
		"/sys/fs ~":          `"/sys/fs ~"`,
		"\"\\":               `"\"\\"`,
		"\x00\n\x1b\x7f\xff": `"?????"`,
		"é":                  `"??"`,
	} {
		if got := check(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		check(string(b))
	}
	for n := range 12 { // around the bound, with the longest escapes
		for _, r := range []string{"a", "\"", "\\"} {
			if q := check(strings.Repeat("a", 1000-n) + strings.Repeat(r, 500)); len(q) > 1000+20 || !strings.HasSuffix(q, `..."`) {
				t.Fatalf("%d bytes: %s", len(q), q)
			}
		}
	}
	t.Setenv("SNUG_LOG", "json")
	long := strings.Repeat(`"`, 5000)
	if got := objects(t, said(t, func() {
		Complain([]limits.Warning{{Code: plan.EnvInvalid, Source: limits.Source{File: long, Raw: long}}})
	})); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
