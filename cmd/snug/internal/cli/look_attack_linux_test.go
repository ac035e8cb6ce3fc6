// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const someMetrics = "../profile/promtext/testdata/client_golang.prom"

// TestDoctorSeveral checks that a failed target does not hide the findings of another.
func TestDoctorSeveral(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, talk := snug(t, "doctor", "--json", someMetrics, empty, someMetrics, "/dev/zero")
	var d finding.Doctor
	if err := json.Unmarshal([]byte(out), &d); err != nil || len(d.Targets) != 1 {
		t.Errorf("%v, want one target\n%s", err, out)
	}
	if code != message.ExitFailed || !strings.Contains(talk, empty) || !strings.Contains(talk, "/dev/zero") || !strings.Contains(talk, "hint: ") {
		t.Errorf("exit code %d\n%s", code, talk)
	}
}

// TestDoctorNames checks names that also exist in the current directory.
func TestDoctorNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.ServeFile(w, r, someMetrics)
			return
		}
		w.Write([]byte{0, 1, 2, 3})
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"locked": 0o644, "nobody-runs-this": 0o755} {
		if err := os.WriteFile(name, []byte("\x7fELF"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("service", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, want string }{
		{"locked", "locked: a program, not a process"},
		{"nobody-runs-this", "nobody-runs-this: a program, not a process"}, // so the file is meant: no such process
		{"service", "service: a directory that is not a cgroup"},
		{"2", "2: a thread of the kernel"},
		{server.URL + "/x?token=secret", server.URL + "/x: neither a profile nor a trace nor a log nor metrics\n"},
	} {
		if c.target == "2" {
			if text, err := os.ReadFile("/proc/2/comm"); err != nil || string(text) != "kthreadd\n" {
				continue // in a pid namespace
			}
		}
		code, out, talk := snug(t, "doctor", "--duration", "0", c.target)
		if code != message.ExitFailed || out != "" || !strings.Contains(talk, c.want) || !strings.Contains(talk, "hint: ") {
			t.Errorf("%s: exit code %d, want %q\n%s%s", c.target, code, c.want, out, talk)
		}
	}
}

// TestDirectoryHidesNoProcess checks a directory with the name of a running program.
func TestDirectoryHidesNoProcess(t *testing.T) {
	_, path := goprogram.Started(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir(filepath.Base(path), 0o755); err != nil {
		t.Fatal(err)
	}
	code, out, talk := snug(t, "doctor", "--duration", "0", "--fail-on", "never", filepath.Base(path))
	if code != 0 || !strings.Contains(out, "GOMAXPROCS") {
		t.Errorf("exit code %d\n%s%s", code, out, talk)
	}
}

// TestPasteable checks that a proposed command runs as printed.
func TestPasteable(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/etcd":    "/usr/bin/etcd",
		"/srv/my app/it's": `'/srv/my app/it'\''s'`,
		"/srv/$(reboot)":   `'/srv/$(reboot)'`,
		"/srv/a\x1b[31m\n": "",
		"":                 "",
	} {
		f := observe.Facts(&goproc.Facts{Path: path}, nil)
		if f.Program != want {
			t.Errorf("%q: %q, want %q", path, f.Program, want)
		}
	}
}

// TestProfileFiles checks that output files are checked before the profile is taken.
func TestProfileFiles(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-o", "/dev/null/x"}, message.ExitFailed, "/dev/null/x"},
		{[]string{"--html", "/dev/null/x"}, message.ExitFailed, "/dev/null/x"},
		{[]string{"-o", "-"}, message.ExitUsage, "stdout has the answer"},
		{[]string{"-o", "x", "--html", "x"}, message.ExitUsage, "two outputs for one file"},
		{[]string{"--rate", "fast"}, message.ExitUsage, "write 1 to 250 samples"},
		{[]string{"--rate", "251"}, message.ExitUsage, "write 1 to 250 samples"},
		{[]string{"--duration", "long"}, message.ExitUsage, "write a duration such as 10s"},
		{nil, message.ExitFailed, someMetrics + ": "}, // the error says where
	} {
		code, out, talk := snug(t, append([]string{"profile", someMetrics}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(talk, c.want) || !strings.Contains(talk, "hint: ") {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, talk)
		}
	}
}

// TestHostileDiagnoses checks that a saved answer cannot control a terminal.
func TestHostileDiagnoses(t *testing.T) {
	const evil = `\u001b[31mx\n`
	found := `[{"id":"` + evil + `","severity":"` + evil + `","title":"` + evil + `","evidence":[{"what":"` + evil + `","value":1e308,"unit":"cores","source":"/sys/` + evil + `","raw":"` + evil + `"}],"fix":"` + evil + `","verify":"` + evil + `"},{}]`
	for kind, rest := range map[string]string{
		"ps": `"processes":[{"pid":-1,"exe":"` + evil + `","go_version":"` + evil + `","gomaxprocs_source":"` + evil + `","quota_cores":1e308,"throttled_ratio":-1e308,"findings":` + found + `},{}],"others":[{"why":"` + evil + `"}],"next":"` + evil + `"`,
		"doctor": `"targets":[{"target":"` + evil + `","go_version":"` + evil + `","seconds":1e308,"facts":[{"unit":"count","value":-1e308}],"findings":` + found +
			`,"unknown":[{"field":"` + evil + `","file":"` + evil + `","why":"` + evil + `"}]},{}],"next":"` + evil + `"`,
		"profile": `"target":"` + evil + `","source":"` + evil + `","seconds":1e308,"samples":-5,"classes":[{"id":"` + evil + `","words":"` + evil + `","ratio":1e308}],"functions":[{"function":"` + evil + `"}],"findings":` + found + `,"file":"` + evil + `","html_file":"` + evil + `"`,
	} {
		file := filepath.Join(t.TempDir(), kind+".json")
		if err := os.WriteFile(file, []byte(`{"snug":"v1","kind":"`+kind+`",`+rest+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, talk := snug(t, "report", file)
		if code != 0 || strings.ContainsAny(out+talk, "\x1b\a\r") {
			t.Errorf("%s: exit code %d\n%q%s", kind, code, out, talk)
		}
		for line := range strings.Lines(out) {
			if len(line) > 250 {
				t.Errorf("%s: a line of %d bytes", kind, len(line))
			}
		}
	}
}

// TestFewSamples checks that doctor says so if a profile has too few samples.
func TestFewSamples(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		t.Skip(err) // this test is being profiled
	}
	pprof.StopCPUProfile()
	code, out, talk := snug(t, "doctor", file)
	if code != 0 || !strings.Contains(out, "too few to judge") {
		t.Errorf("exit code %d\n%s%s", code, out, talk)
	}
}
