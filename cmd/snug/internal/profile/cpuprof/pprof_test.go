// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/pprof/profile"
)

// table is a Symbolizer for tests.
type table map[uint64][]Frame

func (t table) Frames(pc uint64) []Frame { return t[pc] }

// raw returns a capture with all kinds of frames.
func raw() *Raw {
	shared := []uint64{0x1000, 0x2005, 0x3005}
	return &Raw{
		PID: 7, Rate: 100, Kernel: true, Start: time.Unix(1700000000, 0), Duration: time.Second,
		Mappings: []Mapping{{0x1000, 0x5000, 0, "/bin/a"}, {0x8000, 0x9000, 0x40, "/lib/libc.so.6"}, {0xa000, 0xb000, 0, "[vdso]"}},
		Samples: []Sample{
			{TID: 8, PCs: shared, Count: 3, Nanos: 30e6},
			{TID: 9, PCs: shared, Count: 2, Nanos: 20e6},
			{TID: 8, PCs: shared, Kernel: true, Count: 1, Nanos: 10e6},
			{TID: 8, PCs: []uint64{0xa010, 0x2005}, Count: 1, Nanos: 10e6},
			{TID: 8, PCs: []uint64{0x8010}, Count: 1, Nanos: 10e6},
			{TID: 8, PCs: []uint64{0xffff0}, Count: 1, Nanos: 10e6},
			{TID: 8, Kernel: true, Count: 1, Nanos: 10e6},
			{TID: 8, PCs: []uint64{0x1000, 0}, Count: 1, Nanos: 10e6},
		},
		Sampled: 0.11, Scheduled: 0.1, ScheduledKnown: true, Threads: 2, Unsampled: 1, Lost: 4,
	}
}

var symbols = table{
	0x1000: {{"main.leaf", "a.go", 10, false, 8}},
	0x2004: {{"main.inlined", "a.go", 20, true, 19}, {"main.outer", "a.go", 30, false, 28}},
	0x3004: {{"main.main", "a.go", 40, false, 36}},
	0x2005: {{"main.WRONG", "a.go", 0, false, 0}},
}

// lines formats a sample, innermost first.
func lines(s *profile.Sample) string {
	var all []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			all = append(all, line.Function.Name)
		}
	}
	return strings.Join(all, " ")
}

func TestProfile(t *testing.T) {
	p, err := raw().Profile(symbols)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Sample {
		got = append(got, lines(s))
	}
	want := []string{
		"main.leaf main.inlined main.outer main.main",
		"[kernel] main.leaf main.inlined main.outer main.main",
		"[vdso] main.inlined main.outer",
		"[native]", "[native]", "[kernel]", "main.leaf [native]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if v := p.Sample[0].Value; v[0] != 5 || v[1] != 50e6 {
		t.Errorf("threads are not added up: %v", v)
	}
	if p.Period != 10e6 || p.DurationNanos != 1e9 || len(p.Comments) != 4 || !strings.Contains(p.Comments[0], "100 Hz, user and kernel") {
		t.Errorf("%v", p)
	}
	if f := p.Sample[3].Location[0].Line[0].Function; f.Filename != "libc.so.6" {
		t.Errorf("%+v", f)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&b)
	if err != nil || back.String() != p.String() {
		t.Errorf("%v\n%v\n%v", err, back, p)
	}
	if s, err := Summarize(back); err != nil || s.Source != Perf {
		t.Errorf("%+v, %v", s, err)
	}
	if ratio, known := raw().Accounted(); !known || ratio < 1.09 || ratio > 1.11 {
		t.Error(ratio, known)
	}
}

// TestPGO: the part of go build -pgo that reads profiles takes those with start lines, and no others.
func TestPGO(t *testing.T) {
	for _, starts := range []bool{true, false} {
		p, err := raw().Profile(symbols)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Function {
			if !starts {
				f.StartLine = 0
			}
		}
		if ForPGO(p) != starts {
			t.Errorf("ForPGO is %v", !starts)
		}
		dir := t.TempDir()
		in, out := filepath.Join(dir, "cpu.pprof"), filepath.Join(dir, "edges")
		var b bytes.Buffer
		if err := errors.Join(p.Write(&b), os.WriteFile(in, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command("go", "tool", "preprofile", "-i", in, "-o", out).CombinedOutput()
		if (err == nil) != starts || !starts && !bytes.Contains(said, []byte("start_line")) {
			t.Errorf("start lines: %v: %v, %s", starts, err, said)
		}
		if !starts {
			continue
		}
		// Caller, callee, the line of the call from the caller's start, and the weight.
		if edges, err := os.ReadFile(out); err != nil || !bytes.Contains(edges, []byte("main.outer\nmain.inlined\n2 6\n")) {
			t.Errorf("%v\n%s", err, edges)
		}
	}
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zipInto(t, &b, bytes.NewReader(data))
	return b.Bytes()
}

func zipInto(t testing.TB, b *bytes.Buffer, r io.Reader) {
	t.Helper()
	z, err := gzip.NewWriterLevel(b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, r); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// bomb returns a small file that is too large once decompressed.
func bomb(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	zipInto(t, &b, io.LimitReader(zeros{}, MaxSize+1))
	return b.Bytes()
}

// plain returns a profile without compression.
func plain(t testing.TB) []byte {
	t.Helper()
	p, err := raw().Profile(symbols)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRead(t *testing.T) {
	good := plain(t)
	for _, tt := range []struct {
		name string
		data []byte
		want error
	}{
		{"plain", good, nil},
		{"compressed", zipped(t, good), nil},
		{"compressed-in-parts", append(zipped(t, good[:50]), zipped(t, good[50:])...), nil},
		{"empty", nil, ErrNotProfile},
		{"compressed-empty", zipped(t, nil), ErrNotProfile},
		{"text", []byte("cpu profile\n"), ErrNotProfile},
		{"html", []byte("<!DOCTYPE html><html></html>"), ErrNotProfile},
		{"compressed-text", zipped(t, []byte("hello")), ErrNotProfile},
		{"compressed-twice", zipped(t, zipped(t, good)), ErrNotProfile},
		{"truncated", good[:len(good)-7], ErrNotProfile},
		{"compressed-truncated", zipped(t, good)[:60], ErrNotProfile},
		{"compressed-header-only", []byte{0x1f, 0x8b}, ErrNotProfile},
		{"a-location-that-is-not-there", bytes.ReplaceAll(good, []byte{0x22, 2, 8, 9}, []byte{0x22, 2, 8, 99})[:len(good)-1], ErrNotProfile},
		{"many-empty-samples", zipped(t, bytes.Repeat([]byte{fieldSample<<3 | wireBytes, 0}, 5<<20)), ErrTooLarge},
		{"bomb", bomb(t), ErrTooLarge},
		{"large", make([]byte, MaxFile+1), ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Read(bytes.NewReader(tt.data))
			if !errors.Is(err, tt.want) || (err == nil) != (p != nil) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 200) {
				t.Errorf("%q", err)
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := errors.Join(os.WriteFile(large, nil, 0o644), os.Truncate(large, 1<<30)); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, plain(t), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		good: nil, large: ErrTooLarge, dir: ErrNotProfile, filepath.Join(dir, "none"): os.ErrNotExist,
	} {
		if _, err := ReadFile(name); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	good := plain(f)
	f.Add(good)
	f.Add(zipped(f, good))
	f.Add(good[:40])
	f.Add([]byte{fieldSample<<3 | wireBytes, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil {
			if p != nil || !errors.Is(err, ErrNotProfile) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v, %v", p, err)
			}
			return
		}
		s, err := Summarize(p)
		if err != nil {
			if !errors.Is(err, ErrNotCPU) {
				t.Error(err)
			}
			return
		}
		sum := 0.0
		for _, share := range s.Shares {
			sum += share.Ratio
		}
		if len(s.Shares) > 0 && (sum < 0.999 || sum > 1.001) {
			t.Errorf("shares add up to %v", sum)
		}
		if _, err := GraphOf(p); err != nil {
			t.Error(err)
		}
	})
}

// TestReadAtMost: it reads all data, or takes no more memory than the limit.
func TestReadAtMost(t *testing.T) {
	const limit = 32 << 20
	broken := errors.New("broken")
	for _, n := range []int{0, 1, firstPiece - 1, firstPiece, firstPiece + 1, 3 * firstPiece, 1 << 20, 5<<20 + 3} {
		want := bytes.Repeat([]byte("0123456"), n/7+1)[:n]
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(want), "in halves": iotest.HalfReader(bytes.NewReader(want)), "the end with the last": iotest.DataErrReader(bytes.NewReader(want)),
		} {
			if got, err := readAtMost(r, int64(n)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes %s: %d, %v", n, name, len(got), err)
			}
		}
		if _, err := readAtMost(io.MultiReader(bytes.NewReader(want), iotest.ErrReader(broken)), limit); err != broken {
			t.Errorf("%d bytes and an error: %v", n, err)
		}
		if _, err := readAtMost(io.MultiReader(bytes.NewReader(want), iotest.ErrReader(io.ErrUnexpectedEOF)), limit); err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes and no end: %v", n, err)
		}
		if _, err := readAtMost(bytes.NewReader(want), int64(n)-1); n > 0 && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes of %d: %v", n, n-1, err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readAtMost(zeros{}, limit)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrTooLarge) || took > limit+2*largestPiece {
		t.Errorf("%d MiB for what is refused, %v", took>>20, err)
	}
}
