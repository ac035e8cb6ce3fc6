// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const manyPs = "../../testdata/profiles/many.pprof"

// TestProfileAddress compares a file with the profile that a server takes of itself: the samplers
// differ, and the answer says so.
func TestProfileAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(pprof.Profile))
	defer server.Close()
	var done atomic.Bool
	busy := make(chan bool)
	go func() {
		defer close(busy)
		for !done.Load() {
		}
	}()
	defer func() { done.Store(true); <-busy }()
	code, out, talk := spoken([]string{"profile", manyPs, server.URL + "/debug/pprof", "--duration", "2s", "--json"})
	var d finding.ProfileDiff
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	caveats := strings.Join(d.Caveats, " ")
	if d.Unit != finding.UnitCores || d.A.Source != "perf" || d.B.Source != "runtime/pprof" || d.A.Target != manyPs || !strings.Contains(caveats, "samplers differ") || !strings.Contains(caveats, "sysmon") {
		t.Error(out)
	}
	if code, out, _ := spoken([]string{"profile", "--merge", server.URL + "/debug/pprof/profile?seconds=1", manyPs}); code != 0 || !strings.Contains(out, "(other)") {
		t.Errorf("the sum: exit code %d\n%s", code, out)
	}
}

// TestProfileNotForPGO: a profile without start lines is written, and the answer says what it is not
// for.
func TestProfileNotForPGO(t *testing.T) {
	in, err := os.Open(manyPs)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p, err := profile.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Function {
		f.StartLine = 0
	}
	file := filepath.Join(t.TempDir(), "old.pprof")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(out), out.Close()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{file: false, manyPs: true} {
		code, out, talk := spoken([]string{"profile", name, "-o", filepath.Join(t.TempDir(), "x.pprof")})
		if code != 0 || strings.Contains(out, "x.pprof (not for go build -pgo") == want {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, talk)
		}
	}
}
