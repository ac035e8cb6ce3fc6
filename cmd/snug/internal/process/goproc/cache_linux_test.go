// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// kept lists the files of a cache's directory.
func kept(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "snug", folderPrefix+"*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCacheDisk checks that a later run uses the stored files, and that the answer is right even if
// they are damaged.
func TestCacheDisk(t *testing.T) {
	file := buildTarget(t, how{goLine: "1.26", flags: []string{"-ldflags=-s -w"}})
	target := startTarget(t, exec.Command(file), "GOMAXPROCS=7", "GOGC=77")
	pid := target.cmd.Process.Pid
	dir := t.TempDir()
	want := target.ask("truth")
	agree(t, look(t, pid, NewCache(dir)), want)
	files := kept(t, dir)
	if len(files) != 1 {
		t.Fatalf("%q, want one file", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || len(text) > 2048 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	t.Run("is used", func(t *testing.T) {
		// The kept votes are not what counting would give.
		other := bytes.ReplaceAll(text, []byte(`"Votes":11`), []byte(`"Votes":10`))
		if bytes.Equal(other, text) {
			t.Fatalf("no votes in %s", text)
		}
		if err := os.WriteFile(files[0], other, 0o600); err != nil {
			t.Fatal(err)
		}
		f := look(t, pid, NewCache(dir))
		agree(t, f, want)
		if !strings.Contains(f.GOMAXPROCS.Source, " 10/") {
			t.Errorf("%+v", f.GOMAXPROCS)
		}
	})
	for name, damaged := range map[string][]byte{
		"empty":                nil,
		"cut":                  text[:len(text)/2],
		"no JSON":              []byte("nonsense"),
		"without a layout":     []byte(strings.Replace(string(text), `"layout"`, `"lay"`, 1)),
		"another format":       []byte(strings.Replace(string(text), `"format":1`, `"format":2`, 1)),
		"of another program":   []byte(strings.Replace(string(text), `"size":`, `"size":1`, 1)),
		"huge":                 bytes.Repeat([]byte(" "), maxDiskFile+10),
		"with absurd offsets":  []byte(strings.Replace(string(text), `"HeapLive":104`, `"HeapLive":9223372036854775807`, 1)),
		"with absurd address":  []byte(strings.Replace(string(text), `"Addr":`, `"Addr":1`, 1)),
		"with a negative size": []byte(strings.Replace(string(text), `"size":`, `"size":-`, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			if bytes.Equal(damaged, text) {
				t.Fatalf("nothing is damaged in %s", text)
			}
			if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			f := look(t, pid, NewCache(dir))
			if strings.Contains(name, "absurd") {
				// It was written by this user, who may deceive himself.
				if f.Err != nil || f.GOMAXPROCS.Known() && f.HeapLive.Known() {
					t.Errorf("%v, %+v, %+v", f.Err, f.GOMAXPROCS, f.HeapLive)
				}
				return
			}
			agree(t, f, want)
			if again, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(again, text) {
				t.Errorf("not written again, %v: %s", err, again)
			}
		})
	}
	t.Run("a pipe in place of the file", func(t *testing.T) {
		os.Remove(files[0])
		if out, err := exec.Command("mkfifo", files[0]).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		agree(t, look(t, pid, NewCache(dir)), want)
	})
	t.Run("folder cannot be written", func(t *testing.T) {
		inTheWay := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		agree(t, look(t, pid, NewCache(inTheWay)), want)
		agree(t, look(t, pid, NewCache("/proc/none")), want)
	})
	t.Run("another snug's folder is removed", func(t *testing.T) {
		dir := t.TempDir()
		old := filepath.Join(dir, "snug", folderPrefix+"0123")
		if err := os.MkdirAll(old, 0o700); err != nil {
			t.Fatal(err)
		}
		look(t, pid, NewCache(dir))
		if _, err := os.Stat(old); !os.IsNotExist(err) || len(kept(t, dir)) != 1 {
			t.Errorf("%v, %q", err, kept(t, dir))
		}
	})
	t.Run("too many files", func(t *testing.T) {
		dir := t.TempDir()
		f := look(t, pid, NewCache(dir))
		folder := filepath.Dir(kept(t, dir)[0])
		for i := range maxDiskFiles {
			if err := os.WriteFile(filepath.Join(folder, hash(string(rune(i)))), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		os.Remove(kept(t, dir)[0])
		d := openDisk(dir)
		d.store(key{"a/b/c/" + strings.Repeat("x", 40), 1, 0}, f.image)
		if n := len(kept(t, dir)); n != 1 {
			t.Errorf("%d files, want the new one", n)
		}
	})
}

// TestCacheUsers: what is kept of a program is bounded, by however many users it runs.
func TestCacheUsers(t *testing.T) {
	target := startTarget(t, exec.Command(buildTarget(t, how{goLine: "1.26"})), "GOMAXPROCS=7")
	c := NewCache("")
	look(t, target.cmd.Process.Pid, c)
	for _, of := range c.programs {
		clear(of.images)
		for uid := range 10000 {
			of.images[-uid], of.failed[-uid] = &image{}, 1
		}
		delete(of.images, os.Getuid())
		if f := look(t, target.cmd.Process.Pid, c); f.GOMAXPROCS.N != 7 || of.images[os.Getuid()] != f.image {
			t.Errorf("%+v", f.GOMAXPROCS)
		}
		if len(of.images) != maxUsers || len(of.failed) >= maxUsers {
			t.Errorf("%d images, %d failed", len(of.images), len(of.failed))
		}
	}
}

// TestCacheKey checks that a build ID chosen by a build system does not identify a program.
func TestCacheKey(t *testing.T) {
	d := &disk{dir: "/none"}
	id := strings.Repeat("a", 20) + "/" + strings.Repeat("b", 20) + "/" + strings.Repeat("c", 20) + "/" + strings.Repeat("d", 20)
	seen := map[string]bool{}
	for _, k := range []key{{id, 1, 0}, {id, 2, 0}, {id, 1, 1}, {id + "e", 1, 0}} {
		file := d.file(k)
		if file == "" || seen[file] {
			t.Errorf("%+v: %q", k, file)
		}
		seen[file] = true
	}
	for _, chosen := range []string{"", "redacted", "a/b/c/d", strings.Repeat("a", 80), strings.Repeat(id, 20)} {
		if file := d.file(key{chosen, 1, 0}); file != "" {
			t.Errorf("%q: %s", chosen, file)
		}
	}
	if file := (*disk)(nil).file(key{id, 1, 0}); file != "" {
		t.Error(file)
	}
}

// TestCacheShared checks that concurrent looks build the shared data once.
func TestCacheShared(t *testing.T) {
	file := buildTarget(t, how{goLine: "1.26"})
	c := NewCache("")
	var all sync.WaitGroup
	images := make([]*image, 8)
	for i := range images {
		target := startTarget(t, exec.Command(file), "GOMAXPROCS=7")
		all.Add(1)
		go func() {
			defer all.Done()
			p, err := proc.Open(target.cmd.Process.Pid)
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			f := Look(p, c)
			if f.GOMAXPROCS.N != 7 {
				t.Errorf("%+v", f)
			}
			images[i] = f.image
		}()
	}
	all.Wait()
	for _, im := range images {
		if im == nil || im != images[0] {
			t.Fatalf("%p, %p", im, images[0])
		}
	}
}

func FuzzParseStored(f *testing.F) {
	k := key{"a/b/c/d", 5, 0}
	f.Add([]byte(`{"format":1,"build_id":"a/b/c/d","size":5,"uid":0,"entry":4096,"vars":{"GOMAXPROCS":{"Addr":8192,"Votes":11,"Of":11}},"layout":{"MemoryLimit":8,"HeapLive":104}}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, text []byte) {
		im := parseStored(text, k)
		if im == nil {
			return
		}
		// Whatever stands there, reading by it does not panic.
		var facts Facts
		(&reader{mem: bytes.NewReader(bytes.Repeat([]byte{1}, 8192)), image: im}).read(&facts)
		if !reflect.DeepEqual(parseStored(text, k), im) {
			t.Error("not the same twice")
		}
	})
}
