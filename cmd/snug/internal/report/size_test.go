// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

// sized is a published answer of snug size.
func sized(t testing.TB) *finding.Size {
	t.Helper()
	data, err := os.ReadFile("../../../../experiments/2026-11-27-size/full.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := finding.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return d.(*finding.Size)
}

func TestSizePage(t *testing.T) {
	d := sized(t)
	text, err := finding.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "size.json", text)
	var b bytes.Buffer
	if err := page.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	sound(t, b.Bytes())
	golden(t, "size.html", stable(b.Bytes()))
}

// TestSizePageOfLess: what is missing is said.
func TestSizePageOfLess(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*finding.Size)
		want   []string
	}{
		"no curve":   {func(d *finding.Size) { d.Curve = nil }, []string{"No curve: "}},
		"no CPU":     {func(d *finding.Size) { d.Seen.CPUMean, d.Seen.CPUHigh, d.Seen.CPUMost = unseen(), unseen(), unseen() }, []string{"CPU: mean ?, 95 % of the seconds at most ?"}},
		"no periods": {func(d *finding.Size) { d.Seen.CPUMost = unseen() }, []string{"99 % of the periods of 100 ms at most ?"}},
		"no answer": {func(d *finding.Size) {
			d.Memory = finding.SizeValue{Why: finding.Why{Code: finding.SizeEndless}}
		}, []string{"pid 15592 (churn): - of memory", "With GOGC=off and no GOMEMLIMIT its heap grows without end"}},
		"no limits": {func(d *finding.Size) { d.Seen.Quota.None(); d.Seen.Throttled.None(); d.Seen.Limit.None() }, []string{"throttled -"}},
		"throttled": {func(d *finding.Size) { d.Seen.Throttled = figure.New(0.4, "") }, []string{"throttled 40 %"}},
		"far away": {func(d *finding.Size) {
			d.Seen.Limit, d.Seen.Quota = figure.New[int64](64<<30, ""), figure.New(64.0, "")
		}, []string{"has 64 GiB →"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := sized(t)
			c.change(d)
			var b bytes.Buffer
			if err := page.Write(&b, d); err != nil {
				t.Fatal(err)
			}
			sound(t, b.Bytes())
			for _, want := range c.want {
				if !strings.Contains(strings.ReplaceAll(b.String(), "\u00a0", " "), want) {
					t.Errorf("the page lacks %q", want)
				}
			}
		})
	}
}

func unseen() figure.Of[float64] { return figure.Of[float64]{Why: "not seen"} }

func TestSizeHostile(t *testing.T) {
	var b bytes.Buffer
	if err := page.Write(&b, poisoned(t, sized(t))); err != nil {
		t.Fatal(err)
	}
	sound(t, b.Bytes())
	for _, x := range []float64{0, -1, 1e-300, 1e300, -1e300, 5e-324, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			d := sized(t)
			flood(d, x)
			var b bytes.Buffer
			if err := page.Write(&b, d); err == nil { // JSON lacks some numbers
				sound(t, b.Bytes())
			}
		})
	}
}
