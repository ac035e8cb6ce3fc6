// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"math"
	"strings"
	"testing"
)

func TestColumn(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []*float64
		want   string
	}{
		{"each its own unit", []*float64{new(610e-6), new(.0131), new(.0088)}, "610 µs|13.1 ms|8.80 ms"},
		{"not measured", []*float64{nil, new(.5)}, "-|500 ms"},
		{"nothing", []*float64{nil, nil}, "-|-"},
		{"zero", []*float64{new(0.), new(.05)}, "0|50.0 ms"},
		{"too far apart", []*float64{new(2e-6), new(.05), new(.06), new(.07), new(3600.)}, "2.00 µs|50.0 ms|60.0 ms|70.0 ms|60.0 min"},
		{"just below another", []*float64{new(.0104), new(1.52)}, "10.4 ms|1.52 s"},
		{"not a number", []*float64{new(math.NaN()), new(.05)}, "-|50.0 ms"},
	} {
		if got := strings.Join(Durations(c.values), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
