// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// The numbers are those written by runc, crun and the kubelet.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		weight int
		want   []float64
	}{
		{1, nil},
		{3, []float64{0.075, 0.006}}, // no round request has this weight
		{4, []float64{0.1, 0.01}},
		{17, []float64{0.425, 0.1}},
		{39, []float64{1, 0.29}},
		{100, []float64{2.55, 1, 0}},
	} {
		got := requestsOfWeight(Of(c.weight))
		if !slices.Equal(got, c.want) {
			t.Errorf("weight %d stands for %v, want %v", c.weight, got, c.want)
		}
	}
	for millis, want := range map[float64][2]float64{1000: {39, 100}, 100: {4, 17}, 1600: {63, 145}} {
		shares := math.Floor(millis * 1024 / 1000)
		if o, n := olderWeight(shares), newerWeight(shares); o != want[0] || n != want[1] {
			t.Errorf("%vm: weights %v and %v, want %v", millis, o, n, want)
		}
	}
	for shares, want := range map[int]int{2: 0, 512: 1, 1024: 2} {
		if got := requestsOfShares(Of(shares)); len(got) != want {
			t.Errorf("shares %d stand for %v, want %d requests", shares, got, want)
		}
	}
}

func TestValueIsJSON(t *testing.T) {
	for want, v := range map[string]json.Marshaler{
		"null": Value[int]{}, `"none"`: NoLimit[float64](), "-3": Of(-3), "9223372036854775807": Of[int64](math.MaxInt64),
		"1.5": Of(1.5), "2": Of(2.0), "1e+300": Of(1e300),
	} {
		if b, err := json.Marshal(v); err != nil || string(b) != want {
			t.Errorf("%v is %s, %v; want %s", v, b, err, want)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if b, err := json.Marshal(Of(x)); err != nil || string(b) != "null" {
			t.Errorf("%v is %s, %v", x, b, err)
		}
	}
}
