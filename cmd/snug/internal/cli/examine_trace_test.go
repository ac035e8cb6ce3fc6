// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestDoctorTrace checks that figures of a trace name their source, and that none is called CPU
// time.
func TestDoctorTrace(t *testing.T) {
	data, name := generations(t), filepath.Join(t.TempDir(), "whole.out")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.out")
	if err := os.WriteFile(cut, data[:len(data)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		whole      bool
	}{{"whole", name, true}, {"cut off", cut, false}} {
		t.Run(c.name, func(t *testing.T) {
			var out, wrong bytes.Buffer
			if code := Main([]string{"doctor", "--json", "--fail-on", "never", c.file}, nil, &out, &wrong); code != 0 {
				t.Fatalf("%d\n%s", code, wrong.String())
			}
			var d finding.Doctor
			if err := json.Unmarshal(out.Bytes(), &d); err != nil || len(d.Targets) != 1 {
				t.Fatalf("%v\n%s", err, out.String())
			}
			e := &d.Targets[0]
			if e.Kind != "trace" || e.Seconds == nil || *e.Seconds <= 0 {
				t.Errorf("%+v", e)
			}
			facts := map[string]finding.Evidence{}
			for _, f := range e.Facts {
				facts[f.What] = f
				if strings.Contains(f.What, "CPU") {
					t.Errorf("a trace has no CPU time: %+v", f)
				}
			}
			if got := facts["GOMAXPROCS"].Value; got != float64(runtime.GOMAXPROCS(0)) {
				t.Errorf("GOMAXPROCS %v", got)
			}
			for what, source := range map[string]string{
				"collections": "execution trace", "time of the Ps that the collector held": "execution trace, P-occupancy",
				"Ps not idle": "execution trace, P-occupancy", "time that the world was stopped": "execution trace, wall time",
			} {
				if f := facts[what]; !(f.Value > 0) || f.Source != source {
					t.Errorf("%s: %+v, want it from %q", what, f, source)
				}
			}
			rest := false
			for _, g := range e.Unknown {
				rest = rest || g.Field == "the rest of the trace"
			}
			if rest == c.whole {
				t.Errorf("unknown: %+v", e.Unknown)
			}
		})
	}
}
