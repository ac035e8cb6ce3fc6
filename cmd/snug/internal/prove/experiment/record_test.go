// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var errKilled = errors.New("killed")

// eventful has invalid runs and noisy runs.
func eventful(t Trial) finding.Run {
	r := noisy(service{seed: 7, sd: 0.02}, map[string]float64{"8 r1 t0": 1.5, " r3 t0": 1.2})(t)
	switch key(t) {
	case "1 r0 t0", "1 r2 t0", "8 r2 t0", "8 r2 t1":
		r.Invalid = "generator late by 3 ms"
	}
	r.Latency = &finding.Histogram{Seconds: []float64{0.001, 0.0123}, Counts: []int64{5, 1}}
	return r
}

func setup() finding.Setup {
	return finding.Setup{
		Version: "v1.2.3", Command: []string{"./serve", "-p", "8080"}, Seed: 42, Rounds: 4, WarmUp: 1, Window: 4,
		Capacities: []finding.Capacity{{Workload: "http", Quota: 1, RPS: 1583.25}},
		Machine:    finding.Machine{OS: "linux", Arch: "amd64", Kernel: "6.18", CPUs: 2, Go: "go1.26", CgroupWay: "root v1"},
	}
}

// recorded runs the eventful experiment into a record, and returns both.
func recorded(t *testing.T) ([]finding.Run, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	return resume(t, path, 12+4+2), read(t, path)
}

// resume opens the record, does the missing runs, which must be this many, and closes it.
func resume(t *testing.T, path string, want int) []finding.Run {
	t.Helper()
	rec, err := OpenRecord(path, plain(4), nil, setup())
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{run: eventful}
	runs, err := Execute(t.Context(), plain(4), rec.Over(f), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if want >= 0 && len(f.calls) != want {
		t.Errorf("%d runs done, want %d", len(f.calls), want)
	}
	return runs
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestResume: an experiment killed after any run, or while writing any line, ends with
// the same record and the same runs as one that was not killed, and repeats no complete
// run.
func TestResume(t *testing.T) {
	runs, record := recorded(t)
	lines := bytes.SplitAfter(record, []byte("\n"))
	if len(runs) != 12+4+2 || len(lines) != 1+len(runs)+1 {
		t.Fatalf("%d runs, %d lines", len(runs), len(lines))
	}
	total := len(runs)
	offset := 0
	for i, l := range lines[:len(lines)-1] {
		for _, torn := range []int{0, 1, len(l) / 2, len(l) - 1} {
			path := filepath.Join(t.TempDir(), "r.jsonl")
			if err := os.WriteFile(path, record[:offset+torn], 0o644); err != nil {
				t.Fatal(err)
			}
			got := resume(t, path, min(total, total-(i-1)))
			if !reflect.DeepEqual(got, runs) {
				t.Errorf("line %d, %d bytes of it: other runs", i+1, torn)
			}
			if !bytes.Equal(read(t, path), record) {
				t.Errorf("line %d, %d bytes of it: another record", i+1, torn)
			}
		}
		offset += len(l)
	}
}

// TestStopEverywhere: the runner fails at every call in turn, always with the same
// record.
func TestStopEverywhere(t *testing.T) {
	runs, record := recorded(t)
	path := filepath.Join(t.TempDir(), "r.jsonl")
	for done := range runs {
		rec, err := OpenRecord(path, plain(4), nil, setup())
		if err != nil {
			t.Fatal(err)
		}
		f := &fake{run: eventful, before: func(n int) error {
			if n == 1 {
				return errKilled
			}
			return nil
		}}
		got, err := Execute(t.Context(), plain(4), rec.Over(f), nil)
		if last := done == len(runs)-1; last && err != nil || !last && !errors.Is(err, errKilled) {
			t.Fatalf("after %d: %v", done, err)
		}
		if len(got) != done+1 {
			t.Fatalf("%d runs, want %d", len(got), done+1)
		}
		rec.Close()
	}
	if !bytes.Equal(read(t, path), record) {
		t.Error("another record")
	}
	if got := resume(t, path, 0); !reflect.DeepEqual(got, runs) {
		t.Error("a complete record gives other runs")
	}
}

// TestParseEveryPrefix: no prefix of a record is damaged.
func TestParseEveryPrefix(t *testing.T) {
	_, record := recorded(t)
	for n := 0; n <= len(record); n += 1 + n/200 {
		h, runs, size, err := parse(record[:n], "f")
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if want := bytes.LastIndexByte(record[:n], '\n') + 1; size != int64(want) || (h == nil) != (want == 0) ||
			len(runs) != max(0, bytes.Count(record[:n], []byte("\n"))-1) {
			t.Fatalf("%d bytes: %d whole, %d runs", n, size, len(runs))
		}
	}
}

func TestRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if s, err := Recorded(path); s != nil || err != nil {
		t.Errorf("no file: %v, %v", s, err)
	}
	rec, err := OpenRecord(path, plain(4), nil, setup())
	if err != nil {
		t.Fatal(err)
	}
	rec.Close()
	s, err := Recorded(path)
	if err != nil || !reflect.DeepEqual(*s, setup()) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAnothersRecord: the file is unchanged, and the error names the difference.
func TestAnothersRecord(t *testing.T) {
	_, record := recorded(t)
	lines := bytes.SplitAfter(record, []byte("\n"))
	for _, c := range []struct {
		name   string
		change func(d *Design, s *finding.Setup)
		file   []byte // nil: record
		want   string
	}{
		{"other labels and objective", func(d *Design, s *finding.Setup) { d.Arms[0].Labels, s.Objective = nil, "rps" }, nil, ""},
		{"rounds", func(d *Design, s *finding.Setup) { d.Rounds = 10 }, nil, "(the rounds are 4 there, 10 here)"},
		{"seed", func(d *Design, s *finding.Setup) { d.Seed = 1 }, nil, "(the seed is 42 there, 1 here)"},
		{"window", func(d *Design, s *finding.Setup) { s.Window = 2.5 }, nil, "(the seconds of the window are 4 there, 2.5 here)"},
		{"command", func(d *Design, s *finding.Setup) { s.Command = []string{"./other"} }, nil,
			`(the command is "./serve -p 8080" there, "./other" here)`},
		{"load command", func(d *Design, s *finding.Setup) { s.LoadCommand = "./load" }, nil, `(the load command is "" there, "./load" here)`},
		{"prepare command", func(d *Design, s *finding.Setup) { s.Prepare = "./fill" }, nil, `(the prepare command is "" there, "./fill" here)`},
		{"number of arms", func(d *Design, s *finding.Setup) { d.Arms = d.Arms[:2] }, nil, "(the number of arms is 3 there, 2 here)"},
		{"an arm", func(d *Design, s *finding.Setup) { d.Arms[1].GOGC = "off" }, nil,
			"(the arm 2 is http, 1 CPU, GOMAXPROCS=1, saturated there, http, 1 CPU, GOMAXPROCS=1 GOGC=off, saturated here)"},
		{"a rate", func(d *Design, s *finding.Setup) { d.Arms[1].Rate = 800 }, nil,
			"(the arm 2 is http, 1 CPU, GOMAXPROCS=1, saturated there, http, 1 CPU, GOMAXPROCS=1, saturated, 800/s here)"},
		{"kernel", func(d *Design, s *finding.Setup) { s.Machine.Kernel = "6.19" }, nil, `(the kernel is "6.18" there, "6.19" here)`},
		{"a text", nil, []byte("dear diary\n"), "FILE: not a record of snug v1"},
		{"a text without a newline", nil, []byte(`{"snug"` + " is nice"), "FILE: not a record of snug v1"},
		{"a report", nil, []byte(`{"snug":"v1","kind":"bench","cells":[]}` + "\n"), "FILE: not a record of snug v1"},
		{"a damaged line in the middle", nil, bytes.Join([][]byte{lines[0], []byte("{\"arm\n"), lines[1]}, nil), "FILE:2: damaged record: it ends too early"},
		{"a damaged last line is torn", nil, bytes.Join([][]byte{lines[0], lines[1], make([]byte, 100), []byte("\n")}, nil), ""},
		{"a line of something else", nil, bytes.Join([][]byte{lines[0], []byte("{}\n"), lines[1]}, nil), "FILE:2: damaged record: a line without an arm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.jsonl")
			before := record
			if c.file != nil {
				before = c.file
			}
			if err := os.WriteFile(path, before, 0o644); err != nil {
				t.Fatal(err)
			}
			d, s := plain(4), setup()
			if c.change != nil {
				c.change(d, &s)
			}
			rec, err := OpenRecord(path, d, nil, s)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				rec.Close()
				return
			}
			if err == nil {
				t.Fatal("opened")
			}
			if got := strings.ReplaceAll(err.Error(), path, "FILE"); !strings.Contains(got, c.want) || !strings.Contains(got, "FILE") {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if e, ok := errors.AsType[*RecordError](err); !ok || e.Hint() == "" {
				t.Error("no hint")
			}
			if !bytes.Equal(read(t, path), before) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestRunsOfNoExperiment: runs that this experiment would not have done are not taken for its own.
func TestRunsOfNoExperiment(t *testing.T) {
	_, record := recorded(t)
	lines := bytes.SplitAfter(record, []byte("\n"))
	for name, file := range map[string][][]byte{
		"twice":    {lines[0], lines[1], lines[1]},
		"too late": {lines[0], bytes.Replace(lines[1], []byte(`"round":0`), []byte(`"round":9`), 1)},
		"swapped":  {lines[0], lines[2], lines[1]},
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, bytes.Join(file, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		rec, err := OpenRecord(path, plain(4), nil, setup())
		if err != nil {
			t.Fatal(err)
		}
		f := &fake{run: eventful}
		_, err = Execute(t.Context(), plain(4), rec.Over(f), nil)
		rec.Close()
		if err == nil || !strings.Contains(err.Error(), "damaged record: a run that is not the next one") || len(f.calls) > 0 {
			t.Errorf("%s: %v, %d runs done", name, err, len(f.calls))
		}
		if !bytes.Equal(read(t, path), bytes.Join(file, nil)) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// TestOneAtATime: a second experiment with the same record is rejected.
func TestOneAtATime(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("records are locked on Linux and macOS")
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	rec, err := OpenRecord(path, plain(4), nil, setup())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if _, err := OpenRecord(path, plain(4), nil, setup()); err == nil || !strings.Contains(err.Error(), "in use by another snug") {
		t.Errorf("opened twice: %v", err)
	}
}

func TestNoSuchFolder(t *testing.T) {
	_, err := OpenRecord(filepath.Join(t.TempDir(), "no", "r.jsonl"), plain(4), nil, setup())
	if err == nil || !strings.HasSuffix(err.Error(), "no/r.jsonl: no such file or directory") {
		t.Error(err)
	}
}

// disk is a file on a disk with this many bytes free.
type disk struct {
	data  []byte
	at    int64
	room  int
	stuck bool // and cannot be truncated either
}

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room-int(d.at))
	d.data = append(d.data[:d.at], b[:n]...)
	d.at += int64(n)
	if n < len(b) {
		return n, &os.PathError{Op: "write", Path: "r.jsonl", Err: syscall.ENOSPC}
	}
	return n, nil
}

func (d *disk) Truncate(size int64) error {
	if d.stuck {
		return syscall.EIO
	}
	d.data = d.data[:size]
	return nil
}

func (d *disk) Seek(offset int64, whence int) (int64, error) { d.at = offset; return offset, nil }
func (d *disk) Sync() error                                  { return nil }
func (d *disk) Close() error                                 { return nil }

// TestDiskFull at every byte: the experiment stops with the runs so far. The record holds
// complete lines only, or can be repaired.
func TestDiskFull(t *testing.T) {
	runs, record := recorded(t)
	for room := 2000; room < len(record); room += 501 {
		for _, stuck := range []bool{false, true} {
			f := &disk{room: room, stuck: stuck}
			rec := &Record{path: "/data/r.jsonl", file: f}
			if err := rec.write(header{finding.NewHead(kindRecord), *plain(4), setup(), nil}); err != nil {
				t.Fatal(err)
			}
			got, err := Execute(t.Context(), plain(4), rec.Over(&fake{run: eventful}), nil)
			if err == nil || err.Error() != "cannot write the record /data/r.jsonl: no space left on device" || !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%d bytes of room: %v", room, err)
			}
			held := bytes.Count(f.data, []byte("\n")) - 1
			if len(got) != held+1 { // the run that did not fit is returned too
				t.Errorf("%d bytes of room: %d runs returned, %d in the record", room, len(got), held)
			}
			path := filepath.Join(t.TempDir(), "r.jsonl")
			if err := os.WriteFile(path, f.data, 0o644); err != nil {
				t.Fatal(err)
			}
			if again := resume(t, path, len(runs)-held); !reflect.DeepEqual(again, runs) || !bytes.Equal(read(t, path), record) {
				t.Errorf("%d bytes of room: not the same after going on", room)
			}
		}
	}
}

// TestNoRoomForTheHeader leaves no file.
func TestNoRoomForTheHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	rec := &Record{path: path, file: &disk{room: 10}}
	err := rec.open(strings.NewReader(""), &header{Design: *plain(4), Setup: setup()})
	if err == nil || !strings.HasSuffix(err.Error(), "r.jsonl: no space left on device") {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}

// TestRecordLines: a record is JSON lines that name their fields.
func TestRecordLines(t *testing.T) {
	_, record := recorded(t)
	dec := json.NewDecoder(bytes.NewReader(record))
	for n := 0; ; n++ {
		var l map[string]any
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if n == 0 && (l["snug"] != "v1" || l["kind"] != "record" || l["design"] == nil || l["setup"] == nil) {
			t.Errorf("first line: %v", l)
		}
		if n > 0 && (l["arm"].(map[string]any)["workload"] != "http" || l["round"] == nil || l["cpu_seconds_per_op"] == nil) {
			t.Errorf("line %d: %v", n+1, l)
		}
	}
	if !bytes.HasPrefix(record, []byte(`{"snug":"v1","kind":"record",`)) {
		t.Errorf("begins %.40s", record)
	}
}
