// SPDX-License-Identifier: Apache-2.0

// Package advice checks on real programs in real cgroups that snug advises what it has shown.
package advice

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// bench is what the tests read of a document of snug bench.
type bench struct {
	Cells       []cell       `json:"cells"`
	Comparisons []comparison `json:"comparisons"`
	Verdict     struct {
		Text   string `json:"text"`
		Judged []struct {
			Code     string       `json:"code"`
			Metric   string       `json:"metric"`
			Baseline int          `json:"baseline"`
			Setting  *int         `json:"setting"`
			Gain     *comparison  `json:"gain"`
			Also     []comparison `json:"also"`
		} `json:"judged"`
	} `json:"verdict"`
}

type cell struct {
	Labels []string `json:"labels"`
	knobs
	Effective *int                      `json:"gomaxprocs_effective"`
	Killed    *struct{ Rounds, Of int } `json:"killed"`
}

type knobs struct {
	Procs  *int `json:"gomaxprocs"`
	GOGC   any  `json:"gogc"` // nil = unset
	Memory any  `json:"gomemlimit"`
}

type comparison struct {
	Cell     int     `json:"cell"`
	Baseline int     `json:"baseline"`
	Metric   string  `json:"metric"`
	Pairs    int     `json:"pairs"`
	Word     string  `json:"word"`
	Ratio    float64 `json:"ratio"`
}

// run builds a program and measures it with snug bench.
func run(t *testing.T, program string, flags ...string) bench {
	t.Helper()
	gate.Root(t, "advice")
	dir := t.TempDir()
	for name, source := range map[string]string{"snug": "../../../cmd/snug", program: "./" + program} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	args := append([]string{"bench", "--json", "--rt", "--cpus", "1", "--url", "http://" + at + "/"}, flags...)
	cmd := exec.Command(filepath.Join(dir, "snug"), append(args, "--", filepath.Join(dir, program), "-addr", at)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG=")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b bench
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	t.Log(b.Verdict.Text)
	if len(b.Verdict.Judged) != 1 {
		t.Fatalf("%d containers", len(b.Verdict.Judged))
	}
	return b
}

// TestSurvivors: a cache whose live heap is 60 % of its limit is killed under Go's default. The
// answer is snug's GOMEMLIMIT alone, unless its own runs show that another knob is worth setting.
func TestSurvivors(t *testing.T) {
	b := run(t, "cache", "--memory", "256MiB", "--rounds", "8", "--window", "2s",
		"--set", "GOMEMLIMIT=90%,GOGC=50", "--set", "GOMEMLIMIT=90%,GOMAXPROCS=1,GOGC=50")
	j := b.Verdict.Judged[0]
	byDefault := slices.IndexFunc(b.Cells, func(c cell) bool { return slices.Contains(c.Labels, "default") })
	if k := b.Cells[byDefault].Killed; k == nil || k.Rounds < k.Of/2 {
		t.Fatalf("the default is not killed, so there is nothing to show: %+v", k)
	}
	if j.Code != "spared" || j.Setting == nil {
		t.Fatalf("%+v", j)
	}
	stand := b.Cells[j.Baseline]
	if !slices.Contains(stand.Labels, "snug") || stand.Memory == nil || stand.GOGC != nil || stand.Procs != nil {
		t.Errorf("survivors are compared with %+v, not with snug's GOMEMLIMIT", stand)
	}
	compared := 0
	for _, c := range b.Comparisons {
		if c.Baseline != j.Baseline {
			t.Errorf("compared with cell %d: %+v", c.Baseline, c)
		}
		if c.Metric == "cpu_seconds_per_op" && c.Pairs == 8 {
			compared++
		}
	}
	if compared < 2 {
		t.Errorf("%d survivors were compared in all rounds, of 2", compared)
	}
	if *j.Setting == j.Baseline {
		return
	}
	// Another knob has to be shown.
	if j.Gain == nil || j.Gain.Word != "better" || j.Gain.Cell != *j.Setting || j.Gain.Baseline != j.Baseline {
		t.Errorf("%+v is advised without a gain over snug's: %+v", b.Cells[*j.Setting].knobs, j.Gain)
	}
}

// TestBlocked: a service that is blocked in system calls leaves most of its quota unused. It is
// judged by what it serves, and more Ps serve much more.
func TestBlocked(t *testing.T) {
	b := run(t, "block", "--gomaxprocs", "16", "--users", "128", "--rounds", "8", "--window", "2s")
	j := b.Verdict.Judged[0]
	if j.Metric != "rps" || j.Setting == nil || b.Cells[*j.Setting].Procs == nil || *b.Cells[*j.Setting].Procs != 16 || j.Gain.Ratio < 1.2 {
		t.Errorf("%+v", j)
	}
	if !strings.HasPrefix(b.Verdict.Text, "GOMAXPROCS=16 serves ") {
		t.Error(b.Verdict.Text)
	}
}
