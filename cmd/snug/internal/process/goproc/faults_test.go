// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// faulty is a file of which one read fails.
type faulty struct {
	*bytes.Reader
	calls, at int // the read that fails, from 1; 0 = none
}

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	if f.calls++; f.calls == f.at {
		return 0, syscall.EIO
	}
	return f.Reader.ReadAt(p, off)
}

// executables returns files of several kinds.
func executables(t *testing.T) map[string][]byte {
	read := func(name string) []byte {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"a Go program": read(self), "a script": []byte("#!/bin/sh\n"), "text": bytes.Repeat([]byte("text "), 1000)}
	bare := bytes.Clone(all["a Go program"])
	if bytes.HasPrefix(bare, []byte("\x7fELF\x02\x01")) {
		binary.LittleEndian.PutUint64(bare[40:], 0)
		all["a Go program without section headers"] = bare
	}
	if name, err := exec.LookPath("true"); err == nil {
		all["a C program"] = read(name)
	}
	return all
}

// TestFaults: whichever read fails, the answer is an error with its number, or the same as without.
func TestFaults(t *testing.T) {
	type answer struct {
		Exe     Exe
		Version string
		Vars    gobin.Vars
		Layout  gobin.Layout
		Setters gobin.Setters
	}
	for name, text := range executables(t) {
		for how, look := range map[string]func(io.ReaderAt) (answer, error){
			"exe": func(r io.ReaderAt) (a answer, err error) {
				a.Exe, err = ReadExeAt(r)
				return a, err
			},
			"open": func(r io.ReaderAt) (a answer, err error) {
				bin, err := gobin.Open(r, int64(len(text)))
				if err != nil {
					return a, err
				}
				a.Version, a.Vars, a.Layout, a.Setters = bin.Version, bin.Vars(), bin.Layout(), bin.Setters()
				return a, bin.Err()
			},
		} {
			whole := &faulty{Reader: bytes.NewReader(text)}
			want, wantErr := look(whole)
			failed := 0
			for at := 1; at <= whole.calls; at += max(1, whole.calls/100) {
				got, err := look(&faulty{Reader: bytes.NewReader(text), at: at})
				switch {
				case errors.Is(err, syscall.EIO):
					failed++
				case err == nil != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || !reflect.DeepEqual(got, want):
					t.Errorf("%s, %s: read %d of %d fails: %+v, %v; without: %+v, %v", name, how, at, whole.calls, got, err, want, wantErr)
				}
			}
			if failed == 0 {
				t.Errorf("%s, %s: none of %d reads matters", name, how, whole.calls)
			}
		}
	}
}

// TestCut: of the beginning of an ELF program nothing is said that its end would refute.
func TestCut(t *testing.T) {
	for name, text := range executables(t) {
		if !bytes.HasPrefix(text, []byte("\x7fELF")) {
			continue
		}
		for _, n := range []int{100, 4096, 1000000} {
			if n >= len(text) {
				continue
			}
			e, err := ReadExeAt(bytes.NewReader(text[:n]))
			if !e.IsGo && (err == nil || err.Error() != "cut off: its headers point behind its end, so it is unknown whether Go built it") {
				t.Errorf("%d bytes of %s: %+v, %v", n, name, e, err)
			}
		}
	}
}
