// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"maps"
	"strings"
	"testing"
)

func TestReported(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	for name, test := range map[string]struct {
		said string
		want map[string]float64
	}{
		"nothing":               {"", nil},
		"no JSON":               {"done in 5 s\n", nil},
		"one line":              {`{"ops":12,"rate":0.5}` + "\n", map[string]float64{"ops": 12, "rate": .5}},
		"numbers only":          {`{"ops":1e3,"who":"me","all":true,"none":null,"more":{"x":1}}` + "\n", map[string]float64{"ops": 1000}},
		"the last of them":      {`{"ops":1}` + "\n" + `{"ops":2}` + "\nbye\n", map[string]float64{"ops": 2}},
		"one cut off by a kill": {`{"ops":1}` + "\n" + `{"ops":2`, map[string]float64{"ops": 1}},
		"after much":            {long + `{"ops":3}` + "\n", map[string]float64{"ops": 3}},
		"no object":             {"12\n[1]\nnull\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := &output{}
			for part := range strings.Lines(test.said) {
				o.take([]byte(part))
			}
			if got := o.reported(); !maps.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
