// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bounded

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writer opens a pipe for reading and writing, which never blocks.
func writer(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestPipe(t *testing.T) {
	path := pipe(t)
	if _, err := Open(t.Context(), path, Limits{}); err == nil || err.Error() != path+": a pipe without a writer" {
		t.Errorf("nobody writes: %v", err)
	}
	for name, early := range map[string]bool{"text is there": true, "text comes later": false} {
		t.Run(name, func(t *testing.T) {
			path := pipe(t)
			w := writer(t, path)
			send := func() {
				w.WriteString("hello, ")
				w.WriteString("world")
			}
			if early {
				send()
			} else {
				// The writer is there, its text may or may not be yet.
				go func() { send() }()
			}
			s, err := Open(t.Context(), path, Limits{Bytes: 12})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got := make([]byte, 12)
			if _, err := io.ReadFull(s, got); err != nil || string(got) != "hello, world" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestPipeOfShell reads the pipe under /dev/fd that a shell makes for <(command).
func TestPipeOfShell(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := "/dev/fd/" + strconv.Itoa(int(r.Fd()))
	if _, err := os.Stat(path); err != nil {
		t.Skip("no /dev/fd here")
	}
	go func() {
		w.WriteString("hello")
		w.Close()
	}()
	s, err := Open(t.Context(), path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := io.ReadAll(s); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestPipeSilent checks that a read from a silent writer can be cancelled.
func TestPipeSilent(t *testing.T) {
	path := pipe(t)
	writer(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error)
	go func() {
		s, err := Open(ctx, path, Limits{})
		if err == nil {
			_, err = io.ReadAll(s)
			s.Close()
		}
		opened <- err
	}()
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSpecial(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{os.DevNull: "a device", socket: "a socket", "/dev/tty": "a device"} {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if _, err := Open(t.Context(), path, Limits{}); err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
