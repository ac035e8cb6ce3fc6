// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/fit/oci"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// unpacked returns the headers and the contents of an archive's files, by name.
func unpacked(t *testing.T, r io.Reader) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, texts := map[string]*tar.Header{}, map[string][]byte{}
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil {
			t.Errorf("the archive contains %s twice", h.Name)
		}
		headers[h.Name] = h
		if texts[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// decoded decodes JSON and fails on unknown fields.
func decoded[T any](t *testing.T, text []byte) T {
	t.Helper()
	var to T
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return to
}

// checkImage follows an image archive from its index to its layers and returns the files of each
// platform's image, by architecture.
func checkImage(t *testing.T, archive []byte, at time.Time) map[string]map[string][]byte {
	t.Helper()
	_, files := unpacked(t, bytes.NewReader(archive))
	used := map[string]bool{"index.json": true, "oci-layout": true, "manifest.json": true}
	blob := func(d descriptor, mediaType string) []byte {
		text := files[blobName(d.Digest)]
		used[blobName(d.Digest)] = true
		if d.MediaType != mediaType || digest(text) != d.Digest || len(text) != d.Size {
			t.Fatalf("%+v is %d bytes of %s", d, len(text), digest(text))
		}
		return text
	}
	if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", files["oci-layout"])
	}
	top := decoded[imageIndex](t, files["index.json"])
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != version {
		t.Fatalf("index.json: %+v", top)
	}
	saved := decoded[[]savedImage](t, files["manifest.json"])
	found := map[string]map[string][]byte{}
	for n, d := range decoded[imageIndex](t, blob(top.Manifests[0], indexType)).Manifests {
		m := decoded[imageManifest](t, blob(d, manifestType))
		c := decoded[imageConfig](t, blob(m.Config, configType))
		if d.Platform == nil || *d.Platform != (platform{c.Architecture, "linux"}) || c.OS != "linux" {
			t.Errorf("%+v is for %s", d.Platform, c.Architecture)
		}
		want := imageProcess{imageUser, []string{"/snug"}, "/", m.Annotations}
		if fmt.Sprint(c.Config) != fmt.Sprint(want) || c.Config.Labels["org.opencontainers.image.version"] != version || c.Created != at.Format(time.RFC3339) {
			t.Errorf("configuration: %+v", c)
		}
		if len(m.Layers) != 1 || len(c.RootFS.DiffIDs) != 1 {
			t.Fatalf("layers: %+v %+v", m, c)
		}
		z, err := gzip.NewReader(bytes.NewReader(blob(m.Layers[0], layerType)))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(z)
		if err != nil || digest(layer) != c.RootFS.DiffIDs[0] {
			t.Errorf("the layer is %s, %v", digest(layer), err)
		}
		headers, texts := unpacked(t, bytes.NewReader(layer))
		for name, h := range headers {
			mode := int64(0o644)
			if name == "snug" {
				mode = 0o755
			}
			if h.Uid != 0 || h.Gid != 0 || h.Mode != mode || !h.ModTime.Equal(at) || h.Typeflag != tar.TypeReg {
				t.Errorf("%s: %+v", name, h)
			}
		}
		found[c.Architecture] = texts
		s := savedImage{blobName(m.Config.Digest), []string{imageName + ":" + version + "-" + c.Architecture}, []string{blobName(m.Layers[0].Digest)}}
		if n >= len(saved) || fmt.Sprint(saved[n]) != fmt.Sprint(s) {
			t.Errorf("manifest.json: %+v, want %+v", saved, s)
		}
	}
	for name := range files {
		if !used[name] {
			t.Errorf("no reference to %s", name)
		}
	}
	return found
}

func TestImage(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	binaries := []binary{{name: "snug-linux-amd64", arch: "amd64", text: []byte("one")}, {name: "snug-linux-arm64", arch: "arm64", text: bytes.Repeat([]byte("two"), 1<<16)}}
	beside := []content{{"LICENSE", 0o644, []byte("a licence")}, {"sbom.spdx.json", 0o644, []byte("{}")}}
	var archives [2]bytes.Buffer
	for i := range archives {
		if err := writeImage(&archives[i], version, at, binaries, beside); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("two images of the same files differ")
	}
	found := checkImage(t, archives[0].Bytes(), at)
	for _, b := range binaries {
		files := found[b.arch]
		if len(files) != 3 || !bytes.Equal(files["snug"], b.text) || string(files["LICENSE"]) != "a licence" || string(files["sbom.spdx.json"]) != "{}" {
			t.Errorf("%s: %d files", b.arch, len(files))
		}
	}
}

// releasedImage checks the image of a release: its files equal those of the release, the SBOM lists
// the program, and it runs as a container.
func releasedImage(t *testing.T, dist string) {
	t.Helper()
	found := checkImage(t, read(t, filepath.Join(dist, imageFile)), time.Unix(1_700_000_000, 0).UTC())
	var sbom spdxDocument
	if err := json.Unmarshal(read(t, filepath.Join(dist, "sbom.spdx.json")), &sbom); err != nil {
		t.Fatal(err)
	}
	for _, arch := range arches {
		files := found[arch]
		for name, from := range map[string]string{
			"snug": "snug-linux-" + arch, "sbom.spdx.json": "sbom.spdx.json", "THIRD_PARTY_LICENSES": "THIRD_PARTY_LICENSES",
		} {
			if !bytes.Equal(files[name], read(t, filepath.Join(dist, from))) {
				t.Errorf("%s: /%s is not %s", arch, name, from)
			}
		}
		if len(files) != 4 || !strings.Contains(string(files["LICENSE"]), "Apache License") {
			t.Errorf("%s: %d files", arch, len(files))
		}
		sum := strings.TrimPrefix(digest(files["snug"]), "sha256:")
		if !slices.ContainsFunc(sbom.Files, func(f spdxFile) bool { return slices.Contains(f.Checksums, spdxChecksum{"SHA256", sum}) }) {
			t.Errorf("%s: the SBOM does not list the program", arch)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	gate.Root(t, "release")
	root := t.TempDir()
	for name, text := range found[runtime.GOARCH] {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Mount points for runc.
	for _, dir := range []string{"proc", "dev", "sys"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Only the test's user can enter the directories of the test.
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"version"}, {"limits"}, {"webhook", "--register", "--namespace", "snug"}} {
		o := oci.Container{Root: root, Args: append([]string{"/snug"}, args...)}.Run(t)
		if o.Exit != 0 || o.Stderr != "" || o.Stdout == "" || args[0] == "version" && !strings.Contains(o.Stdout, version) {
			t.Errorf("snug %s in the image: exit %d, %q, %q", strings.Join(args, " "), o.Exit, o.Stdout, o.Stderr)
		}
	}
}
