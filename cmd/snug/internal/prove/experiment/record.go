// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

const (
	// kindRecord is the kind of a record's first line.
	kindRecord = "record"
	// maxRecord bounds a record, in bytes: a run takes some KB.
	maxRecord = 256 << 20
)

// Record is the file from which an experiment can be resumed. Its first line is the
// design and the setup; each further line is one finished run with its arm:
//
//	{"snug":"v1","kind":"record","design":{"arms":[...],"rounds":7,...},"setup":{...}}
//	{"arm":{"workload":"http",...},"round":0,"order":0,...}
//
// A complete line ends with a newline; it is written and synced before the next run
// starts. A kill or a full disk can leave an incomplete line, which the next OpenRecord
// cuts off. Runs that the noise rule excludes are not marked: the rule is applied again.
//
// A nil *Record keeps nothing. Only one experiment at a time can have it open.
type Record struct {
	path string
	file file
	size int64 // of the complete lines
	kept []finding.Run
	// taken counts the runs that were taken from it.
	taken int
}

// Over returns a Runner that takes runs from the record, and writes those that it does not have.
func (rec *Record) Over(r Runner) Runner {
	if rec == nil {
		return r
	}
	return &resumed{r, rec}
}

type resumed struct {
	Runner
	record *Record
}

func (r *resumed) Run(ctx context.Context, t Trial) (finding.Run, error) {
	run, old, err := r.record.take(t)
	if old || err != nil {
		return run, err
	}
	began := time.Now()
	if run, err = r.Runner.Run(ctx, t); err != nil {
		return run, err
	}
	if run.Started.IsZero() {
		run.Started = began
	}
	run.Arm, run.Round, run.Order, run.Try, run.Seed = t.Arm, t.Round, t.Order, t.Try, t.Seed
	if err := r.record.write(line{run.Arm, run}); err != nil {
		return run, failed("write", r.record.path, err)
	}
	return run, nil
}

// take returns the next run of an earlier start, which must be that of the trial; false if
// there is no more.
func (rec *Record) take(t Trial) (finding.Run, bool, error) {
	if rec.taken == len(rec.kept) {
		return finding.Run{}, false, nil
	}
	r := rec.kept[rec.taken]
	rec.taken++
	if r.Arm != t.Arm || r.Round != t.Round || r.Try != t.Try || r.Seed != t.Seed {
		return finding.Run{}, false, &RecordError{
			What: fmt.Sprintf("%s:%d: damaged record: a run that is not the next one of this experiment", rec.path, rec.taken+1),
			Cure: "give another file name to start anew",
		}
	}
	return r, true, nil
}

// file is the part of os.File that a Record uses.
type file interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
	Close() error
}

// header is the first line.
type header struct {
	finding.Head
	Design Design            `json:"design"`
	Setup  finding.Setup     `json:"setup"`
	Search map[string]string `json:"search,omitempty"` // see OpenRecord
}

// line is any other line.
type line struct {
	Arm finding.Arm `json:"arm"`
	finding.Run
}

// RecordError reports a record that cannot be used or written.
type RecordError struct {
	What string
	Cure string
	Err  error // of the system; nil if there was none
}

func (e *RecordError) Error() string { return e.What }
func (e *RecordError) Unwrap() error { return e.Err }

// Hint returns the cure.
func (e *RecordError) Hint() string { return e.Cure }

// OpenRecord creates the record of an experiment, or opens an existing one to resume: the
// runs in it are not repeated. It returns an error, and changes nothing, if the file is
// something else or the record of another experiment: other arms, rates, rounds, seed,
// command, window or machine. Labels and the objective may differ; they do not change
// what is measured.
//
// A search chooses its runs by the earlier ones, so its design has no arms but the baseline's.
// Instead it has what the choices depend on besides the runs, by name: all of that must
// be the same when the search is resumed. It is nil for other experiments.
func OpenRecord(path string, d *Design, search map[string]string, setup finding.Setup) (*Record, error) {
	f, err := outfile.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, failed("open", path, err)
	}
	rec := &Record{path: path, file: f}
	if err := lock(f); err != nil {
		f.Close()
		return nil, &RecordError{path + ": the record is in use by another snug", "wait for it, or give another file name",
			err}
	}
	if err := rec.open(f, &header{finding.NewHead(kindRecord), *d, setup, search}); err != nil {
		f.Close()
		return nil, err
	}
	return rec, nil
}

// Kept returns how many runs the record held when it was opened.
func (rec *Record) Kept() int {
	if rec == nil {
		return 0
	}
	return len(rec.kept)
}

func (rec *Record) open(f io.Reader, h *header) error {
	data, err := bounded.ReadAll(f, maxRecord)
	if err != nil {
		return failed("read", rec.path, err)
	}
	old, runs, size, err := parse(data, rec.path)
	if err != nil {
		return err
	}
	if old != nil {
		if err := old.differs(h, rec.path); err != nil {
			return err
		}
	}
	rec.kept, rec.size = runs, size
	if err := rec.cut(); err != nil {
		return failed("write", rec.path, err)
	}
	if old != nil {
		return nil
	}
	if err := rec.write(h); err != nil {
		os.Remove(rec.path) // it holds nothing
		return failed("start", rec.path, err)
	}
	return nil
}

// Recorded reads the setup of a record, for a command that resumes it: the capacity, measured
// before the first run, must stay the same. It is nil, without an error, if there is no such
// file or no complete line in it.
func Recorded(path string) (*finding.Setup, error) {
	data, err := bounded.ReadFile(path, maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("read", path, err)
	}
	h, _, _, err := parse(data, path)
	if h == nil || err != nil {
		return nil, err
	}
	return &h.Setup, nil
}

// Close closes the file. The record can be resumed later.
func (rec *Record) Close() error {
	if rec == nil {
		return nil
	}
	if err := rec.file.Close(); err != nil {
		return failed("close", rec.path, err)
	}
	return nil
}

// write writes a line. If it fails, it removes the partial line; if that fails too, the
// next OpenRecord does.
func (rec *Record) write(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err == nil {
		_, err = rec.file.Write(b.Bytes())
	}
	if err == nil {
		err = rec.file.Sync()
	}
	if err != nil {
		rec.cut()
		return err
	}
	rec.size += int64(b.Len())
	return nil
}

// cut removes what follows the complete lines.
func (rec *Record) cut() error {
	err := rec.file.Truncate(rec.size)
	if _, e := rec.file.Seek(rec.size, io.SeekStart); err == nil {
		err = e
	}
	return err
}

// failed explains an error of the system.
func failed(verb, path string, err error) error {
	e := &RecordError{Err: err, Cure: "give another file name"}
	cause := err
	if p, ok := errors.AsType[*os.PathError](err); ok {
		cause = p.Err
	}
	if verb == "write" {
		e.Cure = "the earlier runs are in it: free some space and run the same command again to resume"
	}
	e.What = fmt.Sprintf("cannot %s the record %s: %v", verb, path, cause)
	return e
}
