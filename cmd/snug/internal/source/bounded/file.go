// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// openFile opens a regular file, or a pipe that has a writer.
func openFile(ctx context.Context, path string) (*opened, error) {
	// Stat before opening: opening a device may have an effect.
	info, err := os.Stat(path)
	if err != nil {
		return nil, bare(err)
	}
	if err := refuse(info.Mode()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, bare(err)
	}
	// Another file may have taken its place since.
	if info, err = f.Stat(); err == nil {
		err = refuse(info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, bare(err)
	}
	o := &opened{File: f, size: info.Size()}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		o.size = 0
		first, err := firstOfPipe(f)
		if err != nil {
			f.Close()
			return nil, bare(err)
		}
		o.first.Write(first)
	}
	// A pipe may block a reader. Files that cannot block have no deadline and need none.
	o.stop = context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	return o, nil
}

// opened is a file and the bytes already read from it.
type opened struct {
	*os.File
	size  int64 // of a regular file, when it was opened
	first bytes.Buffer
	stop  func() bool
}

func (o *opened) Read(p []byte) (int, error) {
	if o.first.Len() > 0 {
		return o.first.Read(p)
	}
	n, err := o.File.Read(p)
	if err != nil && err != io.EOF {
		err = bare(err)
	}
	return n, err
}

func (o *opened) Close() error {
	o.stop()
	return bare(o.File.Close())
}

// refuse returns why a file is not read; nil for a regular file and a pipe.
func refuse(mode fs.FileMode) error {
	switch {
	case mode.IsRegular(), mode.Type() == fs.ModeNamedPipe:
		return nil
	case mode.IsDir():
		return errors.New("a directory")
	case mode&fs.ModeDevice != 0:
		return errors.New("a device")
	case mode&fs.ModeSocket != 0:
		return errors.New("a socket")
	}
	return errors.New("a special file")
}

var errNoWriter = errors.New("a pipe without a writer")

// bare returns an error without the operation and the path, which the caller adds.
func bare(err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		return p.Err
	}
	return err
}
