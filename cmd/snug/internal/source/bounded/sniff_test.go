// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"bytes"
	"expvar"
	"net/http/httptest"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
)

// made is what this Go writes.
func made(t *testing.T, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Skip(err) // somebody else profiles or traces this test
	}
	return b.Bytes()
}

// head is what Open's reader sees of b.
func head(t *testing.T, b []byte) []byte {
	t.Helper()
	s, err := Open(t.Context(), file(t, b), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	head, err := s.Head()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(head)
}

func TestSniffMade(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	expvar.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/debug/vars", nil))
	heap := func(debug int) func(b *bytes.Buffer) error {
		return func(b *bytes.Buffer) error { return pprof.Lookup("heap").WriteTo(b, debug) }
	}
	for name, c := range map[string]struct {
		b    []byte
		want Kind
	}{
		"CPU profile": {made(t, func(b *bytes.Buffer) error { defer pprof.StopCPUProfile(); return pprof.StartCPUProfile(b) }), Profile},
		"heap":        {made(t, heap(0)), Profile},
		"heap text":   {made(t, heap(1)), HeapText},
		"trace":       {made(t, func(b *bytes.Buffer) error { defer trace.Stop(); return trace.Start(b) }), Trace},
		"expvar":      {page.Body.Bytes(), Vars},
	} {
		if len(c.b) == 0 {
			t.Errorf("%s: nothing made", name)
			continue
		}
		if got := Sniff(head(t, c.b)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := Sniff(head(t, pack(t, c.b))); got != c.want {
			t.Errorf("%s, packed: %v", name, got)
		}
	}
	if got := Sniff(program); got != ELF && bytes.HasPrefix(program, []byte("\x7fELF")) {
		t.Errorf("the test itself: %v", got)
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]Kind{
		"":                            Unknown,
		"\x00\x00\x00\x00":            Unknown,
		"\x7fELF\x02\x01\x01":         ELF,
		"go 1.11 trace\x00\x00\x00":   Trace,
		"go 1.27 trace\x00\x00\x00":   Trace,
		"go 1.27 trace of an event\n": Text,
		"gc 1 @0.500s 2%: 0.018+0.48+0.003 ms clock, ":                 RuntimeLog,
		"listening\n{\"log\":\"gc 1 @0.5s 12%: 0.018\"}":               RuntimeLog,
		"SCHED 26ms: gomaxprocs=3 idleprocs=1":                         RuntimeLog,
		"gc is on, SCHED is not\n":                                     Text,
		"# HELP up Whether it is.\n# TYPE up gauge\nup 1\n":            Metrics,
		"# TYPE go_gc summary\r\n":                                     Metrics,
		"go_info{version=\"go1.26.8\"} 1\n":                            Metrics,
		"process_cpu_seconds_total 1.5e+03 1395066363000\nx 1":         Metrics,
		"# a script\necho 1\n":                                         Text,
		`{"snug":"v1","kind":"plan"}`:                                  Document,
		"{\n  \"snug\": \"v1\",":                                       Document,
		`{"kind":"plan","snug":"v1"}`:                                  Text,
		"{\n\"cmdline\": [\"./p\"],\n\"memstats\": {\"Alloc\":1}\n}\n": Vars,
		"{\n\"a\": 1,\n\"cmdline\": [\"./p\"],":                        Vars,
		`{"cmdline":["/bin/p"],"memstats":{"Alloc":1}}`:                Vars,
		`{"level":"info","args":{"cmdline":["x"]}}`:                    Text,
		"heap profile: 1: 32 [1: 32] @ heap/1048576\n":                 HeapText,
		"grüße\n":                 Text,
		"gr\xfc\xdfe\n":           Unknown,
		"cut in a rune: \xe2\x82": Text,
		"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04": Profile,
		"\x0a\x04\x08\x01\x10\x02":                         Unknown,
		"\x0a\x04text":                                     Unknown,
		"\n\nempty lines first\n":                          Text,
		"\n\x08\x08\x08\x08":                               Text,
		strings.Repeat("x", headSize) + "gc 1 @0.500s 2%: 0.018+0.48+0.003 ms clock, too late": Text,
	} {
		if got := Sniff([]byte(text)); got != want {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
	for k := Unknown; k <= Text; k++ {
		if k > Unknown && k.String() == Unknown.String() {
			t.Errorf("kind %d has no name", k)
		}
	}
}

func FuzzSniff(f *testing.F) {
	for _, s := range []string{"go_info 1\n", "\x0a\x04\x08\x01\x10\x02\x0a", "gc 1 @0.500s 2%", "{\"snug\":\"v1\"", "grüße"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k := Sniff(b)
		if k > Text || k != Sniff(b) || len(b) == 0 && k != Unknown {
			t.Errorf("%v", k)
		}
	})
}
