// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/kube/image"
)

// file is an entry of a layer; a text that begins with "->" is a symbolic link,
// with "=>" a hard link.
type file struct{ name, text string }

func archive(t *testing.T, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		text := f.text
		for mark, kind := range map[string]byte{"->": tar.TypeSymlink, "=>": tar.TypeLink} {
			if to, ok := strings.CutPrefix(f.text, mark); ok {
				h.Typeflag, h.Linkname, h.Size, text = kind, to, 0, ""
			}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
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

// layout are the files of an OCI layout.
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
		{"removed", entry, [][]file{{{"srv/app", "one"}}, {{"srv/.wh.app", ""}}}, "", "!without its program srv/app"},
		{"removed with its directory, and there again", entry, [][]file{{{"srv/app", "one"}}, {{"srv/.wh..wh..opq", ""}, {"srv/app", "two"}}}, "srv/app", "two"},
		{"links in a circle", entry, [][]file{{{"srv/app", "->app2"}, {"srv/app2", "->app"}}}, "", "!without its program"},
		{"a link that leaves", entry, [][]file{{{"srv/app", "->../../../../etc/passwd"}}}, "", "!without its program"},
		{"nothing to start", `{"config":{}}`, nil, "", "!starts nothing"},
		{"no program", entry, [][]file{{{"x", "y"}}}, "", "!without its program"},
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
			for _, from := range []string{dir, oci, saved} {
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
	for _, name := range []string{dir, other, tarball, os.DevNull} {
		if _, err := image.Program(name, &bytes.Buffer{}); !errors.Is(err, image.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	zstd := filepath.Join(dir, "zstd.tar")
	if err := os.WriteFile(zstd, archive(t, layout(`{"config":{"Cmd":["/a"]}}`, []byte("\x28\xb5\x2f\xfdxxxx"))...), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Program(zstd, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("zstd: %v", err)
	}
}

// FuzzProgram: whatever an archive holds, it is read without a panic.
func FuzzProgram(f *testing.F) {
	t := &testing.T{}
	layer := archive(t, file{"srv/app", "->x"}, file{"srv/x", "one"})
	f.Add(archive(t, layout(`{"config":{"Entrypoint":["/srv/app"]}}`, layer)...))
	f.Add(archive(t, file{"manifest.json", `[{"Config":"c","Layers":["l"]}]`}, file{"c", `{"config":{"Cmd":["a"]}}`}, file{"l", string(packed(t, layer))}))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(dir, "a.tar")
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		at, err := image.Program(name, &b)
		if (err == nil) != (at != "") {
			t.Errorf("%q, %v", at, err)
		}
		if slices.Contains(strings.Split(at, "/"), "..") {
			t.Errorf("leaves the image: %s", at)
		}
	})
}
