// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of a size (mount(8)) in dir and returns its directory.
func smallDisk(t *testing.T, dir string, size string) string {
	t.Helper()
	at := filepath.Join(dir, "disk")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", at, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, 0); err != nil {
			t.Errorf("the disk is in use: %v", err)
		}
	})
	return at
}

// fill fills a disk except for room bytes.
func fill(t *testing.T, disk string, room int64) string {
	t.Helper()
	name := filepath.Join(disk, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var n int64
	for err == nil {
		var k int
		k, err = f.Write(make([]byte, 4096))
		n += int64(k)
	}
	if err := f.Truncate(max(0, n-room)); err != nil {
		t.Fatal(err)
	}
	return name
}

func testFullDisks(t *testing.T, l *faultLab) {
	batch := []string{"--", l.faulty, "works"}
	for _, tt := range []struct {
		name string
		args []string
		what string
		hint string
	}{
		{"record", []string{"--record", "disk/file"}, "cannot start the record disk/file: no space left on device$", "another file"},
		{"page", []string{"--html", "disk/file"}, "cannot write disk/file: no space left on device$", "has room"},
		{"benchfmt", []string{"--benchfmt", "disk/file"}, "cannot write disk/file: no space left on device$", "has room"},
		{"page, a device", []string{"--html", "/dev/full"}, "cannot write /dev/full: no space left on device$", "has room"},
		{"record, a device", []string{"--record", "/dev/full"}, "/dev/full: not a regular file$", "new file"},
		{"record, a directory", []string{"--record", "disk"}, "cannot write disk: is a directory$", "."},
		{"page, a directory", []string{"--html", "disk"}, "cannot write disk: is a directory$", "."},
		{"page, in no directory", []string{"--html", "nowhere/page.html"}, "cannot write nowhere/page.html: no such file or directory$", "."},
		{"benchfmt, in no directory", []string{"--benchfmt", "nowhere/file"}, "cannot write nowhere/file: no such file or directory$", "."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			disk := smallDisk(t, dir, "64k")
			fill(t, disk, 0)
			v := l.start(t, dir, join([]string{"bench"}, quick, tt.args, batch)...)
			v.keeps = []string{"disk"}
			o := v.wait(t)
			o.fails(t, 1, tt.what, tt.hint)
			// If the disk is full late, the measured results are still printed.
			late := strings.Contains(tt.what, "has room") || strings.HasPrefix(tt.what, "cannot write") && strings.Contains(tt.what, ": no space")
			if answered := o.stdout != ""; answered != late {
				t.Errorf("answers %q", o.stdout)
			}
			entries, err := os.ReadDir(disk)
			if err != nil || len(entries) != 1 {
				t.Errorf("on the disk: %v, %v", entries, err)
			}
		})
	}
	t.Run("answer", func(t *testing.T) {
		for _, form := range []string{"--json=false", "--json"} {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := l.startWith(t, "", full, join([]string{"bench", form}, quick, batch)...)
			full.Close()
			v.wait(t).fails(t, 1, "cannot write the answer: no space left on device$", "free some space")
		}
	})
	t.Run("record becomes full, and goes on", func(t *testing.T) {
		dir := t.TempDir()
		disk := smallDisk(t, dir, "256k")
		filler := fill(t, disk, 8<<10)
		record := filepath.Join(disk, "record")
		args := join(strings.Fields("bench --gomaxprocs 1 --rounds 30 --json --record disk/record"), batch)
		v := l.start(t, dir, args...)
		v.keeps = []string{"disk"}
		o := v.wait(t)
		o.fails(t, 1, "cannot write the record disk/record: no space left on device$", "free some space")
		kept := read(t, record)
		if n := strings.Count(kept, "\n"); n < 2 || !strings.HasSuffix(kept, "\n") {
			t.Errorf("%d whole lines are kept of %d bytes", n, len(kept))
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		v = l.start(t, dir, args...)
		v.keeps = []string{"disk"}
		if o = v.wait(t); o.code != 0 {
			t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
		}
		if !benchDocument(t, o).Complete || !strings.HasPrefix(read(t, record), kept) || lines(record) < 61 {
			t.Errorf("it did not go on: %d lines", lines(record))
		}
	})
}
