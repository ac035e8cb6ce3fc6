// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// traceFile is a file with a trace of this process and of so many collections.
func traceFile(t *testing.T, collections int) (name string, data []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	for range collections {
		runtime.GC()
	}
	trace.Stop()
	name = filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name, b.Bytes()
}

// generations is a trace of this process with two generations, and collections in both. The
// first lasts for about a second, and cannot be read before it is over.
func generations(t *testing.T) []byte {
	t.Helper()
	var b growing
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	collect := func() {
		for range 7 {
			runtime.GC()
		}
	}
	for collect(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := exectrace.Read(t.Context(), bytes.NewReader(b.now()), exectrace.Options{}); err == nil {
			break
		}
	}
	collect()
	trace.Stop()
	return b.Bytes()
}

// growing is a buffer that can be read while it is written.
type growing struct {
	mu sync.Mutex
	bytes.Buffer
}

func (g *growing) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Buffer.Write(b)
}

func (g *growing) now() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.Clone(g.Bytes())
}

// snugTrace runs snug trace.
func snugTrace(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if got := Main(append([]string{"trace"}, args...), strings.NewReader(""), &out, &err); got != code {
		t.Fatalf("snug trace %q: %d, want %d\n%s%s", args, got, code, out.String(), err.String())
	}
	return out.String(), err.String()
}

func TestTraceFile(t *testing.T) {
	name, data := traceFile(t, 7)
	text, _ := snugTrace(t, 0, name)
	if !strings.Contains(text, " with ") || !strings.Contains(text, "\nnext: snug trace --html trace.html ") {
		t.Errorf("%s", text)
	}
	answer, _ := snugTrace(t, 0, "--json", name)
	d, err := finding.Decode([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	tr := d.(*finding.Trace).Traces[0]
	if tr.Wall.GCs < 7 || tr.Partial != nil || tr.Bytes != int64(len(data)) || len(tr.Procs) == 0 || tr.Procs[0].N != runtime.GOMAXPROCS(0) {
		t.Errorf("%+v", tr)
	}
	again := filepath.Join(t.TempDir(), "saved.json")
	if err := os.WriteFile(again, []byte(answer), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, wrong bytes.Buffer
	if code := Main([]string{"report", again}, nil, &out, &wrong); code != 0 || out.String() != text {
		t.Errorf("%d\n%s%s\nwant\n%s", code, out.String(), wrong.String(), text)
	}
	// Compressed, and beside another.
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	w.Close()
	packed := filepath.Join(t.TempDir(), "trace.gz")
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(packed, z.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	text, _ = snugTrace(t, 0, "--html", page, name, packed)
	if !strings.Contains(text, "A") || !strings.Contains(text, "difference") || !strings.Contains(text, "\npage: ") {
		t.Errorf("%s", text)
	}
	if html, err := os.ReadFile(page); err != nil || !bytes.Contains(html, []byte("<svg")) {
		t.Errorf("no page: %v", err)
	}
}

func TestTraceOfARunningProgram(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, args := range [][]string{
		{server.URL + "/debug/pprof/trace?seconds=1"},
		{server.URL + "/debug/pprof/", "--duration", "1s"},
	} {
		answer, _ := snugTrace(t, 0, append(args, "--json")...)
		var d finding.Trace
		if err := json.Unmarshal([]byte(answer), &d); err != nil {
			t.Fatal(err)
		}
		tr := &d.Traces[0]
		if len(tr.Procs) == 0 || tr.Procs[0].N != runtime.GOMAXPROCS(0) || tr.Wall.Run < .9 || strings.Contains(tr.Target, "seconds") {
			t.Errorf("%+v", tr)
		}
	}
}

func TestTraceThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, what, hint string }{
		"text":  {"this is a text and no trace\n", "not a Go execution trace", "runtime/trace"},
		"newer": {"go 1.30 trace\x00\x00\x00", "in the format of Go 1.30", "a newer snug"},
		"old":   {"go 1.21 trace\x00\x00\x00", "the oldest that is read is that of Go 1.22", "go tool trace"},
		"short": {"go 1.26 trace\x00\x00\x00\x01\x01", "damaged", "take it again"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			out, talk := snugTrace(t, message.ExitFailed, file)
			if out != "" || !strings.Contains(talk, c.what) || !strings.Contains(talk, "error: "+file+": ") || !strings.Contains(talk, c.hint) || strings.Count(talk, file) != 1 {
				t.Errorf("%s%s", out, talk)
			}
		})
	}
	snugTrace(t, message.ExitFailed, filepath.Join(dir, "nowhere"))
	snugTrace(t, message.ExitUsage)
	snugTrace(t, message.ExitUsage, "a", "b", "c")
	snugTrace(t, message.ExitUsage, "--html", "-", "a")
}

func TestTraceCutOff(t *testing.T) {
	file, data := filepath.Join(t.TempDir(), "cut"), generations(t)
	if err := os.WriteFile(file, data[:len(data)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	out, talk := snugTrace(t, 0, file)
	if !strings.Contains(out, "\npartial: these are figures of the first ") || !strings.HasPrefix(talk, "snug: warning: ") {
		t.Errorf("%s%s", out, talk)
	}
}
