// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// moves are what each number of a situation becomes in turn, as multiples; those above 100 are steps from 1000.
var moves = [...]float64{0, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2, 10, 999, 1001}

// kind returns what is found, without its numbers.
func kind(all []finding.Finding) string {
	var b []byte
	for _, x := range all {
		b = append(append(append(b, x.ID...), x.Severity...), x.Fix...)
		b = append(b, x.Verify...)
		for _, e := range x.Evidence {
			b = append(b, e.What...)
		}
	}
	return string(slices.DeleteFunc(b, func(c byte) bool { return c >= '0' && c <= '9' || c == '.' }))
}

// found returns what is found: in a few words, without its numbers, and a sum of all of it.
func found(f *rules.Facts) (words, without string, sum uint32) {
	h, ids, all := fnv.New32a(), []string{}, rules.Check(f)
	for _, x := range all {
		ids = append(ids, x.ID+"="+string(x.Severity[0]))
		fmt.Fprintf(h, "%s %s %s %s %s %v\n", x.ID, x.Severity, x.Title, x.Fix, x.Verify, x.Evidence)
	}
	return strings.Join(ids, ","), kind(all), h.Sum32()
}

// numbers returns the numbers of a situation that decide, by name.
func numbers(f *rules.Facts) (names []string, of []*float64) {
	add := func(name string, x *float64) { names, of = append(names, name), append(of, x) }
	v := reflect.ValueOf(f).Elem()
	for k := range v.NumField() {
		name := v.Type().Field(k).Name
		switch x := v.Field(k).Addr().Interface().(type) {
		case *figure.Of[float64]:
			if x.Known() {
				add(name, &x.N)
			}
		case **rules.Trend:
			if *x != nil {
				add(name+".Min", &(*x).Min)
				add(name+".Max", &(*x).Max)
			}
		case *[]rules.Holder:
			for i := range *x {
				add(name, &(*x)[i].N)
			}
		case *[]cpuprof.Site:
			for i := range *x {
				add(name, &(*x)[i].Ratio)
			}
		}
	}
	return names, of
}

// bound returns the first number after low, on the way to high, at which something else is found, and what.
func bound(f *rules.Facts, x *float64, low, high float64) (at float64, is string) {
	*x = low
	was := kind(rules.Check(f))
	*x = high
	is = kind(rules.Check(f))
	for {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			return high, is
		}
		*x = middle
		if now := kind(rules.Check(f)); now == was {
			low = middle
		} else {
			high, is = middle, now
		}
	}
}

// TestMoved: one number of each situation at a time is moved, through what decides and past it, and what is found is as in
// testdata/moved.tsv, to the last bit of the number from which something else is found. The table holds what is found, not
// what is right: the situations do. A change of it is read.
func TestMoved(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently")
	}
	var b strings.Builder
	for _, r := range rules.All() {
		for _, name := range []string{"fires", "quiet"} {
			for i, s := range fixtures(t, filepath.Join(r.ID, name+".json")) {
				f := &s.Facts
				is, without, sum := found(f)
				changes, bounds, all := 0, 0, fnv.New32a()
				note := func(name string, value any) string {
					words, text, sum := found(f)
					fmt.Fprintf(all, "%s %v %s %04x\n", name, value, words, sum&0xffff)
					changes++
					return text
				}
				names, of := numbers(f)
				for k, x := range of {
					was, at, last := *x, *x, without
					for _, m := range moves {
						to := was * m
						if m > 100 {
							to = was + m - 1000
						}
						*x = to
						if now := note(names[k], to); now != last {
							first, text := bound(f, x, at, to)
							fmt.Fprintf(all, "%b %s\n", first, text)
							bounds, last = bounds+1, now
						}
						at = to
					}
					*x = was
				}
				minor := f.Minor
				for f.Minor = 17; f.Minor < 29; f.Minor++ {
					note("Minor", f.Minor)
				}
				f.Minor = minor
				for k := range f.Sites {
					samples := f.Sites[k].Samples
					for _, n := range []int64{4, 5, 6} {
						f.Sites[k].Samples = n
						note("Samples", n)
					}
					f.Sites[k].Samples = samples
				}
				fmt.Fprintf(&b, "%s %s %d\t%s %04x\t%d changes, %d bounds %08x\n", r.ID, name, i, is, sum&0xffff, changes, bounds, all.Sum32())
			}
		}
	}
	const file = "testdata/moved.tsv"
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
