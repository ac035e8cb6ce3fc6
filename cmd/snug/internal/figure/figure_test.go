// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"encoding/json"
	"testing"

	"github.com/snug-go/snug/limits"
)

// TestJSON: the three answers stay apart.
func TestJSON(t *testing.T) {
	unknown := Of[float64]{}
	unknown.Because("permission denied")
	for text, f := range map[string]Of[float64]{
		`{"v":0,"source":"f","raw":"0"}`: {State: limits.Known, Source: "f", Raw: "0"},
		`{"none":true}`:                  None[float64](""),
		`{"why":"permission denied"}`:    unknown,
		`{}`:                             {},
	} {
		got, err := json.Marshal(f)
		if err != nil || string(got) != text {
			t.Errorf("%+v: %s, %v; want %s", f, got, err, text)
		}
		var again Of[float64]
		if err := json.Unmarshal([]byte(text), &again); err != nil || again != f {
			t.Errorf("%s: %+v, %v; want %+v", text, again, err, f)
		}
		if f.Read() != (f.State != limits.Unknown) || f.Known() != (f.Ptr() != nil) {
			t.Errorf("%+v: read %v, known %v", f, f.Read(), f.Known())
		}
	}
}

// TestBecause: only what is unknown has a reason, and the first one stays.
func TestBecause(t *testing.T) {
	n := New(2, "f")
	n.Because("no")
	if n != New(2, "f") {
		t.Errorf("%+v", n)
	}
	var u Of[int]
	u.Because("first")
	u.Because("second")
	if u.Why != "first" {
		t.Errorf("%+v", u)
	}
}

func TestLimit(t *testing.T) {
	from := limits.Source{File: "/sys/fs/cgroup/cpu.max", Raw: "max 100000"}
	if got := Limit(limits.NoLimit[float64](), from); got != None[float64]("") {
		t.Errorf("%+v", got)
	}
	if got := Limit(limits.Of[int64](5), from); got != (Of[float64]{N: 5, State: limits.Known, Source: from.File, Raw: from.Raw}) {
		t.Errorf("%+v", got)
	}
	if got := Limit(limits.Value[int]{}, from); got != (Of[float64]{}) {
		t.Errorf("%+v", got)
	}
}
