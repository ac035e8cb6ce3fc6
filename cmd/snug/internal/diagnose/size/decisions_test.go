// SPDX-License-Identifier: Apache-2.0

package size

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var update = flag.Bool("update", false, "rewrite testdata/decisions.tsv")

// some returns one of the values.
func some[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// drawn returns a program with figures at the bounds that decide, on both sides of them, and between.
func drawn(r *rand.Rand) (*Seen, Price) {
	s := seen()
	mebi := func(of ...float64) figure.Of[float64] { return know(some(r, of...) * mib) }
	s.Live = mebi(1, 8, 60, 100, 100, 700)
	s.LiveMost = know(s.Live.N * some(r, 1, 1.04, 1.5))
	s.Allocated = mebi(0, 1, 20, 200, 900)
	s.GCCores = know(some(r, 0, 0.002, 0.1, 0.6))
	s.Rest, s.Other = mebi(2, 10, 80), mebi(0, 5, 50, 200)
	s.Used = know(s.Live.N*some(r, 0.5, 1, 2, 8) + s.Rest.N + s.Other.N)
	s.GOGC = figure.New(some(r, -1, 0, 30, 100, 100, 400), "")
	s.Goal = know(s.Live.N * some(r, 1, 1.2, 2, 5))
	s.Over = know(some(r, 0, 0.9, 1.05, 1.3))
	s.Growth, s.Earlier = mebi(0, 0, 0, 30), mebi(0, 0, 90)
	s.CPUMean, s.CPUHigh, s.CPUMost = know(some(r, 0.01, 0.4, 0.62, 1.9)), know(some(r, 0.02, 0.26, 0.62, 1.8, 3.6)), know(some(r, 0.03, 1.04, 1.05, 1.13, 4))
	s.Waited, s.Throttled, s.Quota = know(some(r, 0, 0.2, 1)), know(some(r, 0, 0.01, 0.011, 0.4)), know(some(r, 0.5, 1, 2, 4))
	s.Procs = figure.New(some(r, 1, 2, 4), "")
	s.Seconds, s.Age, s.Collections = some(r, 20.0, 119, 120, 300), some(r, 0.0, 5, 59, 60, 3600), some(r, 0, 1, 3, 4, 60, 600)
	s.Mates, s.CPUs, s.Minor, s.Aware = some(r, 0, 0, 1, 2), some(r, 0, 1, 8), some(r, 0, 18, 19, 24, 26), some(r, false, true)
	if some(r, true, true, false) {
		s.MemLimit = figure.New(int64(some(r, 64, 460)*mib), "")
	} else {
		s.MemLimit.None()
	}
	if some(r, false, false, true) {
		s.Days, s.Every, s.Burst = some(r, 0.5, 1, 3), some(r, 15.0, 60), some(r, 0, 5*s.Allocated.N)
	}
	for _, f := range []*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other, &s.Used, &s.Goal, &s.CPUHigh, &s.CPUMost, &s.CPUMean, &s.Quota} {
		if r.IntN(40) == 0 {
			*f = figure.Of[float64]{Why: "lost"}
		}
	}
	return s, some(r, Fargate, Fargate, Price{1, 1}, Price{100, 1}, Price{1, 100})
}

// sum returns a number for all of a document, with each figure by four digits.
func sum(v any) uint32 {
	h := fnv.New32a()
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Float64:
			fmt.Fprintf(h, "%.4g ", v.Float())
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				visit(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		default:
			fmt.Fprint(h, v, " ")
		}
	}
	visit(reflect.ValueOf(v))
	return h.Sum32()
}

// TestDecisions: a thousand programs get the sizes, reasons and notes of testdata/decisions.tsv, and those of five hundred
// searches are found in the same containers. The table holds what was decided, not what is right: the other tests do. A change
// of it is read line by line.
func TestDecisions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently")
	}
	number := func(v *float64, unit float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.4g", *v/unit)
	}
	var b strings.Builder
	b.WriteString("n\tmemory MiB\tGOMEMLIMIT MiB\trequest\tlimit\tP\tcurve\tnot seen\tmemory by\tsum\n")
	for i := range 1000 {
		s, price := drawn(rand.New(rand.NewPCG(uint64(i), 1)))
		d := Decide(s, price)
		if d.Memory.Value != nil && Possible(d) != nil {
			t.Errorf("%d: %+v", i, d)
		}
		fmt.Fprintf(&b, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%08x\n", i, number(d.Memory.Value, mib), number(d.GOMEMLIMIT.Value, mib), number(d.CPURequest.Value, 1),
			number(d.CPULimit.Value, 1), number(d.GOMAXPROCS.Value, 1), len(d.Curve), len(d.Unseen), strings.TrimPrefix(d.Memory.Why.Code, "size-"), sum(d))
	}
	b.WriteString("search\tcores\tmemory MiB\ttried\topen\tsum\n")
	for i := range 500 {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		roomiest := Container{some(r, 0.5, 1, 4, 6), some(r, 60.0, 512, 4096, 4100) * mib}
		p := played{some(r, 0.08, 0.42, 1, 3.1), some(r, 0.002, 0.1, 1.2), some(r, 5.0, 20, 300, 2800) * mib}
		d := some(r, predicted(1, p.work, p.live*2, p.live*1.2), predicted(0.1, 0.1, 16*mib, 12*mib), predicted(4, 3, 3*gib, 2*gib), &finding.Size{})
		s := NewSearch(some(r, Fargate, Price{1, 1}, Price{1, 100}), roomiest, d)
		tried := play(s, p)
		best, ok := s.Cheapest()
		cheaper, broken := s.Cheaper(best)
		fmt.Fprintf(&b, "%d\t%.4g\t%.4g\t%d\t%d\t%08x\n", i, best.Cores, best.Memory/mib, len(tried), s.Open(), sum([]any{tried, s.cores, s.memory, ok, cheaper, broken, s.guesses}))
	}
	const file = "testdata/decisions.tsv"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if d := diff.Diff(file, want, "go test -update writes", []byte(b.String())); err != nil || len(d) > 0 {
		t.Errorf("%v\n%.4000s", err, d)
	}
}
