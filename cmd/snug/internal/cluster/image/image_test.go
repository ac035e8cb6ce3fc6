// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/image"
)

// file is an entry of a layer. A text that begins with "->" is a symbolic link, with "=>" a
// hard link, with "-x" a file that is not executable.
type file struct{ name, text string }

func archive(t *testing.T, files ...file) []byte {
	t.Helper()
	b, err := pack(files, true)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pack makes an archive. err has the files that cannot be in an archive. links enables the
// links of file.
func pack(files []file, links bool) (_ []byte, err error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text)), Typeflag: tar.TypeReg}
		for mark, kind := range map[string]byte{"->": tar.TypeSymlink, "=>": tar.TypeLink} {
			if to, ok := strings.CutPrefix(f.text, mark); ok && links {
				h.Typeflag, h.Linkname, h.Size = kind, to, 0
			}
		}
		if strings.HasPrefix(f.text, "-x") {
			h.Mode = 0o644
		}
		bad := w.WriteHeader(h)
		if bad == nil && h.Size > 0 {
			_, bad = w.Write([]byte(f.text))
		}
		err = errors.Join(err, bad)
	}
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// layout returns the files of an OCI layout.
func layout(config string, layers ...[]byte) []file {
	files := []file{
		{"index.json", `{"manifests":[{"digest":"sha256:att","platform":{"os":"unknown","architecture":"unknown"}},{"digest":"sha256:index"}]}`},
		{"blobs/sha256/index", `{"manifests":[{"digest":"sha256:arm","platform":{"os":"linux","architecture":"arm64"}},{"digest":"sha256:m","platform":{"os":"linux","architecture":"amd64"}}]}`},
		{"blobs/sha256/c", config},
	}
	var list []string
	for i, l := range layers {
		list = append(list, fmt.Sprintf(`{"digest":"sha256:l%d"}`, i))
		files = append(files, file{fmt.Sprintf("blobs/sha256/l%d", i), string(l)})
	}
	return append(files, file{"blobs/sha256/m", `{"config":{"digest":"sha256:c"},"layers":[` + strings.Join(list, ",") + `]}`})
}

func TestProgram(t *testing.T) {
	const entry = `{"config":{"Entrypoint":["/srv/app"],"Cmd":["serve"]}}`
	for _, c := range []struct {
		name, config string
		layers       [][]file
		path, want   string // "!" is an error
	}{
		{"plain", entry, [][]file{{{"srv/app", "one"}}}, "srv/app", "one"},
		{"the topmost layer", entry, [][]file{{{"srv/app", "one"}}, {{"./srv/app", "two"}}, {{"srv/other", "x"}}}, "srv/app", "two"},
		{"by PATH", `{"config":{"Cmd":["app"],"Env":["PATH=/opt/bin:/bin"]}}`, [][]file{{{"bin/app", "one"}}}, "bin/app", "one"},
		{"in the working directory", `{"config":{"Cmd":["./app"],"WorkingDir":"/srv"}}`, [][]file{{{"srv/app", "one"}}}, "srv/app", "one"},
		{"a symbolic link", entry, [][]file{{{"srv/app", "->../bin/app"}, {"bin/app", "one"}}}, "srv/app", "one"},
		{"a link of its directory, in a layer below", entry, [][]file{{{"srv", "->usr/srv"}, {"usr/srv/app", "one"}}, {{"etc/x", ""}}}, "srv/app", "one"},
		{"a hard link", entry, [][]file{{{"bin/app", "one"}, {"srv/app", "=>bin/app"}}}, "srv/app", "one"},
		{"removed", entry, [][]file{{{"srv/app", "one"}}, {{"srv/.wh.app", ""}}}, "", "!lacks its program srv/app"},
		{"removed with its directory, and there again", entry, [][]file{{{"srv/app", "one"}}, {{"srv/.wh..wh..opq", ""}, {"srv/app", "two"}}}, "srv/app", "two"},
		{"links in a circle", entry, [][]file{{{"srv/app", "->app2"}, {"srv/app2", "->app"}}}, "", "!lacks its program"},
		{"a link that leaves", entry, [][]file{{{"srv/app", "->../../../../etc/passwd"}}}, "", "!lacks its program"},
		{"a link through a linked directory", entry, [][]file{{{"srv/app", "->lib/../app"}, {"srv/lib", "->/opt/deep"}, {"opt/deep/x", ""}, {"opt/app", "one"}, {"app", "wrong"}}}, "srv/app", "one"},
		{"a link to an earlier file", entry, [][]file{{{"bin/app", "one"}, {"srv/app", "->/bin/app"}}}, "srv/app", "one"},
		{"a link to a newer file", entry, [][]file{{{"bin/app", "one"}, {"srv/app", "->/bin/app"}}, {{"bin/app", "two"}}}, "srv/app", "two"},
		{"a link to a removed file", entry, [][]file{{{"bin/app", "one"}, {"srv/app", "->/bin/app"}}, {{"bin/.wh.app", ""}}}, "", "!lacks its program"},
		{"a hard link to a newer file", entry, [][]file{{{"bin/app", "one"}, {"srv/app", "=>bin/app"}}, {{"bin/app", "two"}}}, "srv/app", "one"},
		{"a hard link to a removed file", entry, [][]file{{{"bin/app", "one"}, {"srv/app", "=>bin/app"}}, {{".wh.bin", ""}}}, "srv/app", "one"},
		{"a hard link to a link", entry, [][]file{{{"srv/other", "->lib"}, {"srv/app", "=>srv/other"}, {"srv/lib", "one"}}}, "srv/app", "one"},
		{"hard links in a circle", entry, [][]file{{{"srv/other", "=>srv/app"}, {"srv/app", "=>srv/other"}}}, "", "!lacks its program"},
		{"removed with its directory", entry, [][]file{{{"srv/app", "one"}}, {{".wh.srv", ""}}}, "", "!lacks its program"},
		{"removed twice", entry, [][]file{{{"srv/app", "one"}}, {{"srv/.wh.app", ""}}, {{"srv/x", ""}}}, "", "!lacks its program"},
		{"removed, and there in a layer above", entry, [][]file{{{"srv/app", "one"}}, {{"srv/.wh.app", ""}}, {{"srv/app", "two"}}}, "srv/app", "two"},
		{"in a replaced directory", entry, [][]file{{{"srv/app", "one"}}, {{".wh.srv", ""}, {"srv/x", ""}}}, "", "!lacks its program"},
		{"a file in place of its directory", entry, [][]file{{{"srv/app", "one"}}, {{"srv", "x"}}}, "", "!lacks its program"},
		{"a directory in place of a link", entry, [][]file{{{"srv", "->usr"}, {"usr/app", "one"}}, {{"srv/x", ""}}}, "", "!lacks its program"},
		{"all removed", entry, [][]file{{{"srv/app", "one"}}, {{".wh..wh..opq", ""}}}, "", "!lacks its program"},
		{"the last of a name", entry, [][]file{{{"srv/app", "one"}, {"srv/app", "two"}}}, "srv/app", "two"},
		{"a link that became a file", entry, [][]file{{{"srv/app", "->x"}, {"srv/x", "one"}, {"srv/app", "two"}}}, "srv/app", "two"},
		{"by PATH, past a file that is not executable", `{"config":{"Cmd":["app"],"Env":["PATH=/opt:/bin"]}}`, [][]file{{{"opt/app", "-x"}, {"bin/app", "one"}}}, "bin/app", "one"},
		{"by PATH, past a directory", `{"config":{"Cmd":["app"],"Env":["PATH=/opt:/bin"]}}`, [][]file{{{"bin/app", "one"}}, {{"opt/app/x", "two"}}}, "bin/app", "one"},
		{"by PATH, in order", `{"config":{"Cmd":["app"],"Env":["PATH=/opt:/bin"]}}`, [][]file{{{"opt/app", "one"}}, {{"bin/app", "two"}}}, "opt/app", "one"},
		{"nothing to start", `{"config":{}}`, nil, "", "!starts no program"},
		{"no program", entry, [][]file{{{"x", "y"}}}, "", "!lacks its program"},
		{"a damaged config", `{`, nil, "", "!damaged, blobs/sha256/c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var layers [][]byte
			for i, files := range c.layers {
				l := archive(t, files...)
				if i%2 == 0 {
					l = packed(t, l)
				}
				layers = append(layers, l)
			}
			files := layout(c.config, layers...)
			dir := t.TempDir()
			for _, f := range files {
				name := filepath.Join(dir, f.name)
				if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(f.text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			oci := filepath.Join(t.TempDir(), "oci.tar")
			if err := os.WriteFile(oci, archive(t, files...), 0o666); err != nil {
				t.Fatal(err)
			}
			saved := filepath.Join(t.TempDir(), "saved.tar")
			names := []string{}
			old := []file{{"c.json", c.config}}
			for i, l := range layers {
				names = append(names, fmt.Sprintf(`"l%d/layer.tar"`, i))
				old = append(old, file{fmt.Sprintf("l%d/layer.tar", i), string(l)})
			}
			old = append(old, file{"manifest.json", `[{"Config":"c.json","Layers":[` + strings.Join(names, ",") + `]}]`})
			if err := os.WriteFile(saved, archive(t, old...), 0o666); err != nil {
				t.Fatal(err)
			}
			zipped := filepath.Join(t.TempDir(), "saved.tar.gz")
			if err := os.WriteFile(zipped, packed(t, archive(t, old...)), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, from := range []string{dir, oci, saved, zipped} {
				var b bytes.Buffer
				at, err := image.Program(from, &b)
				if why, bad := strings.CutPrefix(c.want, "!"); bad {
					why = strings.Replace(why, "blobs/sha256/c", "", 1)
					if err == nil || !strings.Contains(err.Error(), why) {
						t.Errorf("%s: %v, want %s", filepath.Base(from), err, why)
					}
				} else if err != nil || at != c.path || b.String() != c.want {
					t.Errorf("%s: %s %q, %v; want %s %q", filepath.Base(from), at, b.String(), err, c.path, c.want)
				}
			}
		})
	}
}

func TestNoImage(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "file")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	tarball := filepath.Join(dir, "a.tar")
	if err := os.WriteFile(tarball, archive(t, file{"x", "y"}), 0o666); err != nil {
		t.Fatal(err)
	}
	zipped := filepath.Join(dir, "a.tar.gz")
	if err := os.WriteFile(zipped, packed(t, archive(t, file{"x", "y"})), 0o666); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.gz")
	if err := os.WriteFile(text, packed(t, []byte("text")), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, other, tarball, zipped, text, os.DevNull} {
		if _, err := image.Program(name, &bytes.Buffer{}); !errors.Is(err, image.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zstd returns a zstd frame of uncompressed blocks. Source: RFC 8878, 3.1.1.
func zstd(text []byte) []byte {
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0} // the size follows, in four bytes
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	for last := false; !last; {
		n := min(len(text), 64<<10)
		last = n == len(text)
		head := uint32(n) << 3
		if last {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16))
		b = append(b, text[:n]...)
		text = text[n:]
	}
	return b
}

// TestZstd: a zstd layer that must be read is ErrZstd; one that need not be read does not
// matter.
func TestZstd(t *testing.T) {
	const entry = `{"config":{"Entrypoint":["/srv/app"]}}`
	layer := archive(t, file{"srv/app", "one"})
	skipped := append([]byte{0x5e, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'x', 'x', 'x', 'x'}, zstd(layer)...)
	for _, c := range []struct {
		name   string
		layers [][]byte
		bad    bool
	}{
		{"the program's layer", [][]byte{packed(t, archive(t, file{"x", "y"})), zstd(layer)}, true},
		{"a frame to skip first", [][]byte{skipped}, true},
		{"above it", [][]byte{layer, zstd(archive(t, file{"x", "y"}))}, true},
		{"below it", [][]byte{zstd(archive(t, file{"srv/app", "old"})), layer}, false},
	} {
		name := filepath.Join(t.TempDir(), "a.tar")
		if err := os.WriteFile(name, archive(t, layout(entry, c.layers...)...), 0o666); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, err := image.Program(name, &b)
		if errors.Is(err, image.ErrZstd) != c.bad || !c.bad && (err != nil || b.String() != "one") {
			t.Errorf("%s: %v, %q", c.name, err, b.String())
		}
		if c.bad && !strings.Contains(err.Error(), "zstd, which snug does not read, layer l") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// little takes at most 64 KiB: an archive may claim more than it has.
type little struct{ bytes.Buffer }

func (l *little) Write(p []byte) (int, error) {
	if l.Len()+len(p) > 64<<10 {
		return 0, errors.New("too much")
	}
	return l.Buffer.Write(p)
}

// FuzzProgram: no archive causes a panic. The input describes an image in a few bytes, a line
// per file of a layer, because the fuzzer manages only a few whole archives per second. One
// byte of the archive is changed.
func FuzzProgram(f *testing.F) {
	const entry = `{"config":{"Entrypoint":["/srv/app"]}}`
	f.Add(true, entry, "srv/app=one", "srv/.wh.app=", uint16(0), byte(0))
	f.Add(false, entry, "srv=->usr/srv\nusr/srv/app=one", "", uint16(600), byte(1))
	f.Add(true, `{"config":{"Cmd":["a"],"WorkingDir":"/x","Env":["PATH=/bin"]}}`, "bin/a==>x\nx=one", "bin/.wh..wh..opq=", uint16(1160), byte(0x80))
	f.Add(false, `{"config":{"Entrypoint":["./a"]}}`, "\x28\xb5\x2f\xfd", "a=->../../a", uint16(3), byte(7))
	f.Fuzz(func(t *testing.T, saved bool, config, lower, upper string, at uint16, change byte) {
		if len(config)+len(lower)+len(upper) > 1<<10 {
			return
		}
		var layers [][]byte
		for _, spec := range []string{lower, upper} {
			layers = append(layers, layerOf(spec))
		}
		files := layout(config, layers...)
		if saved {
			files = []file{{"manifest.json", `[{"Config":"c","Layers":["l0","l1"]}]`}, {"c", config}, {"l0", string(layers[0])}, {"l1", string(layers[1])}}
		}
		text, _ := pack(files, false)
		text[int(at)%len(text)] ^= change
		var b little
		name, err := image.ProgramIn(text, &b)
		if (err == nil) != (name != "") {
			t.Errorf("%q, %v", name, err)
		}
		if slices.Contains(strings.Split(name, "/"), "..") {
			t.Errorf("leaves the image: %s", name)
		}
	})
}

// layerOf makes a layer from lines NAME=TEXT; a spec without "=" is the layer itself.
func layerOf(spec string) []byte {
	if !strings.Contains(spec, "=") {
		return []byte(spec)
	}
	var files []file
	for _, line := range strings.Split(spec, "\n") {
		name, text, _ := strings.Cut(line, "=")
		files = append(files, file{name, text})
	}
	b, _ := pack(files, true)
	return b
}
