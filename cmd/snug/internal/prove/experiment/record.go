// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

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
	// taken counts the runs that Take returned.
	taken int
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
	Search map[string]string `json:"search,omitempty"` // see OpenSearch
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
func OpenRecord(path string, d *Design, setup finding.Setup) (*Record, error) {
	return openRecord(path, &header{finding.NewHead(kindRecord), *d, setup, nil})
}

func openRecord(path string, h *header) (*Record, error) {
	f, err := outfile.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, failed("open", path, err)
	}
	rec := &Record{path: path, file: f}
	if err := lock(f); err != nil {
		f.Close()
		return nil, &RecordError{"the record is in use by another snug, " + path, "wait for it, or give another file name", err}
	}
	if err := rec.open(f, h); err != nil {
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
		if h.Search == nil { // a search checks each run when it asks for it
			if err := h.Design.check(runs, rec.path); err != nil {
				return err
			}
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

// Recorded reads the design and the setup of a record, for a command that resumes it: the
// seed and the capacity, chosen before the first run, must stay the same. Both are nil,
// without an error, if there is no such file or no complete line in it.
func Recorded(path string) (*Design, *finding.Setup, error) {
	data, err := bounded.ReadFile(path, maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, failed("read", path, err)
	}
	h, _, _, err := parse(data, path)
	if h == nil || err != nil {
		return nil, nil, err
	}
	return &h.Design, &h.Setup, nil
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

// runs returns the runs that the record held when it was opened.
func (rec *Record) runs() []finding.Run {
	if rec == nil {
		return nil
	}
	return rec.kept[:len(rec.kept):len(rec.kept)]
}

// add writes a run.
func (rec *Record) add(r finding.Run) error {
	if rec == nil {
		return nil
	}
	if err := rec.write(line{r.Arm, r}); err != nil {
		return failed("write", rec.path, err)
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
	e.What = fmt.Sprintf("cannot %s the record: %v, %s", verb, cause, path)
	return e
}
