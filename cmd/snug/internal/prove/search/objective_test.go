// SPDX-License-Identifier: Apache-2.0

package search

import (
	"strings"
	"testing"
)

func TestParseConstraint(t *testing.T) {
	for text, want := range map[string]struct {
		name         string
		bound        float64
		inside, over float64
	}{
		"p99<20ms":           {"p99<20ms", 0.02, 0.0199, 0.02},
		"p99 <= 20ms":        {"p99<=20ms", 0.02, 0.02, 0.0201},
		"rss<=400MiB":        {"rss<=400MiB", 400 << 20, 400 << 20, 401 << 20},
		"peak<1G":            {"peak<1G", 1e9, 1e9 - 1, 1e9},
		"rps>=1000":          {"rps>=1000", 1000, 1000, 999},
		"rps>1000":           {"rps>1000", 1000, 1001, 1000},
		"errors<=0":          {"errors<=0", 0, 0, 0.001},
		"errors<=0.1%":       {"errors<=0.1%", 0.001, 0.001, 0.002},
		"throttled<0.05":     {"throttled<0.05", 0.05, 0.04, 0.05},
		"cpu<1.5ms":          {"cpu<1.5ms", 0.0015, 0.0014, 0.0015},
		"wall<=3s":           {"wall<=3s", 3, 3, 3.1},
		" p50<5ms":           {"p50<5ms", 0.005, 0.004, 0.006},
		"p95<100us":          {"p95<100us", 0.0001, 0.00009, 0.0002},
		"throttled <= 100 %": {}, // below
	} {
		c, err := ParseConstraint(text)
		if want.name == "" {
			if err == nil {
				t.Errorf("%q: no error", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if c.String() != want.name || c.bound < want.bound*0.999999 || c.bound > want.bound*1.000001 {
			t.Errorf("%q: %v with bound %v, want %v with %v", text, c, c.bound, want.name, want.bound)
		}
		if !c.holds(want.inside) || c.holds(want.over) {
			t.Errorf("%q: %v holds %v, %v holds %v", text, want.inside, c.holds(want.inside), want.over, c.holds(want.over))
		}
	}
}

func TestParseConstraintErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":           "no comparison",
		"p99":        "no comparison",
		"p98<20ms":   "unknown figure",
		"p99>20ms":   "want p99<=20ms",
		"p99=20ms":   "want p99<=20ms",
		"rps<1000":   "want rps>=1000",
		"p99<20":     "not a bound",
		"p99<":       "not a bound",
		"p99<-1ms":   "not a bound",
		"rss<400m":   "not a bound",
		"errors<2":   "not a bound",
		"rps>=NaN":   "not a bound",
		"rps>=1e400": "not a bound",
		"p99<<20ms":  "not a bound",
		"<20ms":      "unknown figure",
	} {
		_, err := ParseConstraint(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]string{"": "cpu", "cpu": "cpu", "rps": "rps", "p99": "p99", "wall": "wall"} {
		if o, err := ParseObjective(text); err != nil || o.String() != want || margins[o.name] == 0 {
			t.Errorf("%q: %v, %v", text, o, err)
		}
	}
	for _, text := range []string{"p50", "rss", "CPU", "latency"} {
		if o, err := ParseObjective(text); err == nil || !strings.Contains(err.Error(), "want cpu, rps, p99 or wall") {
			t.Errorf("%q: %v, %v", text, o, err)
		}
	}
}
