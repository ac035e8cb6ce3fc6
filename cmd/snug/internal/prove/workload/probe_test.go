// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	for _, tt := range []struct {
		name  string
		gaps  [][]gap
		took  time.Duration
		worst []float64
		first [][2]float64
		max   float64
	}{
		{"none", [][]gap{{}, {}}, ms(250), []float64{0, 0}, [][2]float64{}, 0},
		{"one-a-period", [][]gap{{{ms(10), ms(50)}, {ms(110), ms(40)}}}, ms(200),
			[]float64{0.05, 0.04}, [][2]float64{{0.01, 0.05}, {0.11, 0.04}}, 0.05},
		{"worst-of-threads", [][]gap{{{ms(10), ms(5)}}, {{ms(60), ms(7)}}}, ms(100), []float64{0.007}, [][2]float64{{0.01, 0.005}}, 0.007},
		{"longer-than-a-period", [][]gap{{{ms(50), ms(200)}}}, ms(400), []float64{0.2, 0.2, 0.2, 0}, [][2]float64{{0.05, 0.2}}, 0.2},
		{"after-the-last-whole-period", [][]gap{{{ms(90), ms(50)}, {ms(215), ms(2)}}}, ms(220),
			[]float64{0.05, 0.05}, [][2]float64{{0.09, 0.05}, {0.215, 0.002}}, 0.05},
	} {
		p := summarize(tt.gaps, 8, tt.took)
		if p.Threads != len(tt.gaps) || p.Procs != 8 || p.Seconds != tt.took.Seconds() || p.Period != 0.1 {
			t.Errorf("%s: %+v", tt.name, p)
		}
		if !slices.Equal(p.Worst, tt.worst) || !slices.Equal(p.Gaps, tt.first) || p.Max != tt.max {
			t.Errorf("%s:\ngot  %v %v %g\nwant %v %v %g", tt.name, p.Worst, p.Gaps, p.Max, tt.worst, tt.first, tt.max)
		}
	}
}
