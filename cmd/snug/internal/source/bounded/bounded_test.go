// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func pack(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func noise(n int) []byte {
	b := make([]byte, n)
	c := rand.NewChaCha8([32]byte{1})
	c.Read(b)
	return b
}

func file(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFiles(t *testing.T) {
	small := Limits{Bytes: 1 << 20, Unpacked: 8 << 20}
	mega := noise(1 << 20)
	text := []byte("go_info 1\n")
	for name, c := range map[string]struct {
		content []byte
		limits  Limits
		want    []byte // nil: too long to say
		err     string
		excess  bool
	}{
		"empty":                     {nil, Limits{}, []byte{}, "", false},
		"plain":                     {text, Limits{}, text, "", false},
		"packed":                    {pack(t, text), Limits{}, text, "", false},
		"packed twice":              {pack(t, pack(t, text)), Limits{}, text, "", false},
		"packed in two members":     {append(pack(t, text), pack(t, text)...), Limits{}, append(text[:len(text):len(text)], text...), "", false},
		"packed thrice":             {pack(t, pack(t, pack(t, text))), Limits{}, pack(t, text), "", false},
		"as long as it may be":      {mega, small, mega, "", false},
		"a byte too long":           {append(mega[:len(mega):len(mega)], 0), small, nil, "more than 1 MiB", true},
		"packed, unpacks to more":   {pack(t, bytes.Repeat(mega[:200<<10], 41)), Limits{Unpacked: 8 << 20}, nil, "more than 8 MiB unpacked", true},
		"a bomb":                    {pack(t, make([]byte, 4<<20)), small, nil, "unpacks to more than 200 times its size", true},
		"a bomb in a bomb":          {pack(t, pack(t, make([]byte, 64<<20))), Limits{}, nil, "unpacks to more than 200 times its size", true},
		"a bomb that holds nothing": {pack(t, bytes.Repeat(pack(t, nil), 1<<18)), Limits{}, nil, "unpacks to more than 200 times its size", true},
		"cut off":                   {pack(t, mega)[:1<<19], Limits{}, nil, "ends in the middle of its gzip", false},
		"cut off in its header":     {pack(t, text)[:5], Limits{}, nil, "ends in the middle of its gzip", false},
		"gzip with wrong contents":  {append(pack(t, text)[:12], noise(100)...), Limits{}, nil, "damaged gzip", false},
		"gzip with wrong sum":       {append(pack(t, text)[:len(pack(t, text))-8], make([]byte, 8)...), Limits{}, nil, "damaged gzip", false},
		"gzip and then something":   {append(pack(t, text), "and more of it"...), Limits{}, nil, "damaged gzip", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, c.content)
			var got []byte
			s, err := Open(t.Context(), path, c.limits)
			if err == nil {
				defer s.Close()
				got, err = io.ReadAll(s)
			}
			if c.err == "" {
				if err != nil || !bytes.Equal(got, c.want) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				return
			}
			if err == nil || err.Error() != path+": "+c.err {
				t.Fatalf("error %v", err)
			}
			if errors.Is(err, ErrTooMuch) != c.excess {
				t.Errorf("too much: %v", !c.excess)
			}
		})
	}
}

func TestHead(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 10<<10)
	s, err := Open(t.Context(), file(t, pack(t, text)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	head, err := s.Head()
	if err != nil || !bytes.Equal(head, text[:headSize]) {
		t.Errorf("head of %d bytes, %v", len(head), err)
	}
	if all, err := io.ReadAll(s); err != nil || !bytes.Equal(all, text) {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	short, _ := Wrap(t.Context(), io.NopCloser(strings.NewReader("ab")), "stdin", Limits{})
	if head, err := short.Head(); err != nil || string(head) != "ab" {
		t.Errorf("%q, %v", head, err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                        dir + ": a directory",
		filepath.Join(dir, "no"):   filepath.Join(dir, "no") + ": no such file or directory",
		"http://example.invalid/x": "http://example.invalid/x: no such file or directory",
	} {
		if s, err := Open(t.Context(), path, Limits{}); err == nil {
			s.Close()
			t.Errorf("%s was opened", path)
		} else if got := strings.Replace(err.Error(), "The system cannot find the file specified.", "no such file or directory", 1); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestNotRead: a file that is too large is refused by its size, and not read up to the limit.
func TestNotRead(t *testing.T) {
	path := file(t, nil)
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), path, Limits{}); !errors.Is(err, ErrTooMuch) || err.Error() != path+": more than 64 MiB" {
		t.Errorf("%v, %v", s, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadFile(path, 64<<20)
	if runtime.ReadMemStats(&after); !errors.Is(err, ErrTooMuch) || after.TotalAlloc-before.TotalAlloc > 16<<20 {
		t.Errorf("%v, %d bytes allocated", err, after.TotalAlloc-before.TotalAlloc)
	}
}

func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, file(t, noise(1<<20)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := io.ReadFull(s, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if n, err := io.Copy(io.Discard, s); !errors.Is(err, context.Canceled) || n >= 1<<20-10 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestExcessAfterHead: the head of a short source reaches the byte that is too much. The error
// must still be there for who reads on.
func TestExcessAfterHead(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		limits  Limits
	}{
		"plain":  {noise(1025), Limits{Bytes: 1 << 10}},
		"packed": {pack(t, noise(1025)), Limits{Unpacked: 1 << 10}},
	} {
		s, err := Wrap(t.Context(), io.NopCloser(bytes.NewReader(c.content)), "input", c.limits)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if head, err := s.Head(); len(head) != 1024 || !errors.Is(err, ErrTooMuch) {
				t.Errorf("%s: head %d bytes, %v", name, len(head), err)
			}
		}
		if n, err := io.Copy(io.Discard, s); n != 1024 || !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// FuzzOpen: whatever a file holds, no more comes out than may.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add(make([]byte, 1<<10+1))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := Limits{Bytes: 1 << 10, Unpacked: 1 << 12}
		s, err := Wrap(t.Context(), io.NopCloser(bytes.NewReader(b)), "input", l)
		if err != nil {
			if s != nil {
				t.Error("a Source and an error")
			}
			return
		}
		head, _ := s.Head()
		Sniff(head)
		n, err := io.Copy(io.Discard, s)
		if n > l.Unpacked || err == nil && int64(len(b)) > l.Bytes {
			t.Errorf("%d bytes of %d, %v", n, len(b), err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "input: ") {
			t.Errorf("error %v", err)
		}
	})
}
