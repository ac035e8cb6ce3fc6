// SPDX-License-Identifier: Apache-2.0

// Package outfile writes the user's output files atomically, and keeps the owner and the mode of
// an existing file.
package outfile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// RoomHint is the hint for a file that cannot be written.
const RoomHint = "name a file in a directory that can be written and has room"

// Replace writes a file atomically: the old one stays until the new one is complete and on the disk.
// Unlike Save, it returns the error unchanged.
func Replace(name string, text []byte) error { return ReplaceChecked(name, text, nil) }

// ReplaceChecked is Replace for a file that exists. Before the complete new file takes its place, it
// calls check with the old one, open for reading.
func ReplaceChecked(name string, text []byte, check func(old *os.File) error) (err error) {
	for range 3 {
		if err = replace(name, text, check); err != errMeanwhile {
			break
		}
	}
	return err
}

const newMode = 0o644

var (
	errMeanwhile = errors.New("another file has taken its place meanwhile")
	errUnread    = errors.New("a pipe that nobody reads")
)

// replace opens the old file once: owner, mode and kind are those of that descriptor.
func replace(name string, text []byte, check func(old *os.File) error) error {
	p, err := find(name)
	if err != nil {
		return err
	}
	defer p.close()
	if p.direct != "" {
		return direct(p.direct, text)
	}
	flag := os.O_WRONLY
	if check != nil {
		flag = os.O_RDWR
	}
	// Keep a file that may not be written, even if its directory would allow replacing it.
	old, err := p.target(flag)
	var info fs.FileInfo
	if err == nil {
		defer old.Close()
		info, err = old.Stat()
	} else if check == nil && errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	if info != nil && !info.Mode().IsRegular() {
		_, err = old.Write(text)
		return err
	}
	f, err := p.create(info)
	if err != nil {
		return err
	}
	defer f.discard()
	if _, err = f.Write(text); err == nil && info != nil {
		keepOwner(f.File, info)
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && check != nil {
		err = check(old)
	}
	if err == nil {
		err = f.put(old, info)
	}
	return err
}

// direct writes to an open file by its name. What it holds stays: others may have written it.
func direct(name string, text []byte) error {
	for i, f := range []*os.File{1: os.Stdout, 2: os.Stderr} {
		fd := "fd/" + strconv.Itoa(i)
		if f != nil && (name == "/dev/"+filepath.Base(f.Name()) || name == "/dev/"+fd || name == "/proc/self/"+fd) {
			_, err := f.Write(text)
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, newMode)
	if err == nil {
		_, err = f.Write(text)
		err = cmp.Or(err, f.Close())
	}
	return err
}

// Open opens a file, and follows links as Replace does.
func Open(name string, flag int) (*os.File, error) {
	p, err := find(name)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.direct != "" {
		return os.OpenFile(p.direct, flag, newMode)
	}
	return p.target(flag)
}

// descriptor reports whether a name stands for an open file, such as /dev/stdout. The process that
// opened it would not see a new file in its place.
func descriptor(name string) bool {
	for _, dir := range []string{"/dev/std", "/dev/fd/", "/proc/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

// Failed returns the failure of a file that could not be written.
func Failed(err error, name string) error { return failed(err, name, RoomHint) }

func failed(err error, name, hint string) error {
	if errors.Is(err, errUnread) {
		hint = "start its reader first, or name a file"
	}
	return message.Failed("cannot write "+name+": "+message.Reason(err), hint)
}

// Save writes a file atomically: until it is complete it has another name, so that a full disk
// leaves the old file. It writes directly to devices and pipes.
func Save(name string, text []byte) error {
	if err := Replace(name, text); err != nil {
		return failed(err, name, RoomHint+"; - is stdout")
	}
	return nil
}

// File is a file by the flag that names it; Flag "" is an input. Name "" is no file, "-" a stream.
type File struct{ Flag, Name string }

// Apart refuses an output that is an input, or another output: the one written last would replace
// it.
func Apart(files ...File) error {
	for i, f := range files {
		if f.Flag == "" || f.Name == "" || f.Name == "-" {
			continue
		}
		for j, g := range files {
			switch {
			case i == j || g.Name == "" || g.Name == "-" || !same(f.Name, g.Name):
			case g.Flag == "":
				return message.Usage(f.Flag+" "+message.Quote(f.Name)+": the output is the input", "give the output another name")
			default:
				return message.Usage(f.Flag+" and "+g.Flag+" "+message.Quote(g.Name)+": two outputs for one file",
					"give each its own")
			}
		}
	}
	return nil
}

// same reports whether two names lead to one regular file, or would.
func same(a, b string) bool {
	i, err1 := os.Stat(a)
	j, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(i, j) && i.Mode().IsRegular()
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// Writable checks, before a long run, that a file can be written, and that no page would replace a
// record or a document of snug. It does not open pipes, because their reader would see an empty
// output.
func Writable(flag, file string) error {
	switch file {
	case "":
		return nil
	case "-":
		return message.Usage(flag+" -: stdout has the answer",
			"name a file; snug report writes any form of a saved answer to stdout")
	}
	info, err := os.Stat(file)
	special := err == nil && !info.Mode().IsRegular() && !info.IsDir()
	if !special && flag == "--html" && document(file) {
		return message.Usage(flag+" "+message.Quote(file)+": a document of snug, which a page would replace",
			"give the page a name of its own")
	}
	if err := writable(file, special); err != nil {
		return Failed(err, file)
	}
	return nil
}

// writable opens a file that is not special, or makes one in its directory and removes it.
func writable(file string, special bool) error {
	p, err := find(file)
	if err != nil {
		return err
	}
	defer p.close()
	if special || p.direct != "" {
		return nil
	}
	f, err := p.target(os.O_WRONLY)
	if f.Close(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t, err := p.create(nil)
	if err == nil {
		t.discard()
	}
	return err
}

// document reports whether a file, compressed or not, begins as a record or a document of snug.
func document(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var text io.Reader = f
	if z, err := gzip.NewReader(f); err == nil {
		text = z
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	var head [64]byte
	n, _ := io.ReadFull(text, head[:])
	key, ok := bytes.CutPrefix(bytes.TrimSpace(head[:n]), []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimSpace(key), []byte(`"snug":`))
}
