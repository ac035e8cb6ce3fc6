// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// moves are what each figure of a situation becomes in turn, as multiples; a step of 1 follows both ways.
var moves = [...]float64{0, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2, 10}

// found returns what is found, in a few words and a sum of all of it.
func found(f *rules.Facts) string {
	h, ids := fnv.New32a(), []string{}
	for _, x := range rules.Check(f) {
		ids = append(ids, x.ID+"="+string(x.Severity[0]))
		fmt.Fprintf(h, "%s %s %s %s %s %v\n", x.ID, x.Severity, x.Title, x.Fix, x.Verify, x.Evidence)
	}
	return fmt.Sprintf("%s %04x", strings.Join(ids, ","), h.Sum32()&0xffff)
}

// TestMoved: one figure of each situation at a time is moved, through what decides and past it, and what is found is as in
// testdata/moved.tsv. The table holds what is found, not what is right: the situations do. A change of it is read.
func TestMoved(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently")
	}
	var b strings.Builder
	for _, r := range rules.All() {
		for _, name := range []string{"fires", "quiet"} {
			for i, s := range fixtures(t, filepath.Join(r.ID, name+".json")) {
				is := found(&s.Facts)
				changes, all := 0, fnv.New32a()
				v := reflect.ValueOf(&s.Facts).Elem()
				for k := range v.NumField() {
					x, ok := v.Field(k).Addr().Interface().(*figure.Of[float64])
					if !ok || !x.Known() {
						continue
					}
					was, last := x.N, is
					for _, m := range append(moves[:], math.NaN(), math.Inf(1)) {
						switch x.N = was * m; {
						case math.IsNaN(m):
							x.N = was - 1
						case math.IsInf(m, 1):
							x.N = was + 1
						}
						if now := found(&s.Facts); now != last {
							fmt.Fprintf(all, "%s %.6g %s\n", v.Type().Field(k).Name, x.N, now)
							changes, last = changes+1, now
						}
					}
					x.N = was
				}
				fmt.Fprintf(&b, "%s %s %d\t%s\t%d changes %08x\n", r.ID, name, i, is, changes, all.Sum32())
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
