// SPDX-License-Identifier: Apache-2.0

// Package outfile writes the user's output files atomically, and keeps the owner and the mode of
// an existing file.
package outfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// RoomHint is the hint for a file that cannot be written.
const RoomHint = "name a file in a directory that can be written and has room"

// Replace writes a file atomically. Unlike Save, it returns the error unchanged.
func Replace(name string, text []byte) error {
	return ReplaceChecked(name, text, func() error { return nil })
}

// ReplaceChecked is Replace, but calls check before it replaces the file with the complete new
// one.
func ReplaceChecked(name string, text []byte, check func() error) error {
	mode := fs.FileMode(0o644)
	info, err := os.Stat(name)
	switch {
	case err == nil && (!info.Mode().IsRegular() || descriptor(name)):
		return os.WriteFile(name, text, mode)
	case err == nil:
		// Replace the target of a link, not the link. Keep a file that may not be written, even
		// if its directory would allow replacing it.
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
		old, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		old.Close()
	default:
		if _, err := os.Lstat(name); err == nil {
			return os.WriteFile(name, text, mode) // a link to a missing file
		}
	}
	temp := filepath.Join(filepath.Dir(name), ".snug-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && info != nil {
		keepOwner(f, info)
		err = f.Chmod(info.Mode().Perm())
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = check()
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
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

const (
	saveHint = RoomHint + "; - is stdout"
)

// Save writes a file atomically: until it is complete it has another name, so that a full disk
// leaves the old file. It writes directly to devices and pipes.
func Save(name string, text []byte) error {
	if err := Replace(name, text); err != nil {
		return message.Failed("cannot write, "+message.Reason(err)+", "+name, saveHint)
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
				return message.Usage("the output is the input, "+f.Flag+" "+message.Quote(f.Name), "give the output another name")
			default:
				return message.Usage("two outputs for one file, "+f.Flag+" and "+g.Flag+" "+message.Quote(g.Name), "give each its own")
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
		return message.Usage("stdout has the answer, "+flag+" -", "name a file; snug report writes any form of a saved answer to stdout")
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	if flag == "--html" && document(file) {
		return message.Usage("a document of snug, which a page would replace, "+flag+" "+message.Quote(file), "give the page a name of its own")
	}
	_, before := os.Lstat(file)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return message.Failed("cannot write, "+message.Reason(err)+", "+file, RoomHint)
	}
	f.Close()
	if errors.Is(before, os.ErrNotExist) {
		os.Remove(file)
	}
	return nil
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
