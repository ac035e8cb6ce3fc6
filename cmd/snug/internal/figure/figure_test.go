// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/snug-go/snug/limits"
)

// TestJSON: documents hold the number, and null for the two other answers.
func TestJSON(t *testing.T) {
	unknown := Of[float64]{}
	unknown.Because("permission denied")
	for _, c := range []struct {
		f           Of[float64]
		text        string
		known, read bool
	}{
		{New(0.0, "f"), "0", true, true},
		{None[float64]("f"), `"none"`, false, true},
		{unknown, "null", false, false},
	} {
		got, err := json.Marshal(c.f)
		if err != nil || string(got) != c.text || c.f.Known() != c.known || c.f.Read() != c.read {
			t.Errorf("%+v: %s, %v, known %v, read %v", c.f, got, err, c.f.Known(), c.f.Read())
		}
		var again Of[float64]
		if err := json.Unmarshal(got, &again); err != nil || again.Known() != c.known || again.Read() != c.read || again.N != c.f.N {
			t.Errorf("%s: %+v, %v", got, again, err)
		}
	}
	var f Of[int64]
	if err := json.Unmarshal([]byte(`"many"`), &f); err == nil {
		t.Errorf("text became %+v", f)
	}
}

func TestAs(t *testing.T) {
	if got := As[int64](New(uint64(math.MaxUint64), "f")); got != New[int64](math.MaxInt64, "f") {
		t.Errorf("%+v", got)
	}
	if got := As[int64](New(int64(-1), "f")); got.N != -1 {
		t.Errorf("%+v", got)
	}
	if got := As[float64](None[int64]("f")); got != None[float64]("f") {
		t.Errorf("%+v", got)
	}
}

// TestCompare: figures without a number come first.
func TestCompare(t *testing.T) {
	all := []Of[int]{New(2, ""), None[int](""), New(1, "")}
	slices.SortFunc(all, Compare)
	if all[0].Known() || all[1].N != 1 || all[2].N != 2 {
		t.Errorf("%+v", all)
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
	if got := Limit(limits.Of[int64](5), from); got != (Of[int64]{N: 5, State: limits.Known, Source: from.File, Raw: from.Raw}) {
		t.Errorf("%+v", got)
	}
	if got := Limit(limits.Value[int]{}, from); got != (Of[int]{}) {
		t.Errorf("%+v", got)
	}
}
