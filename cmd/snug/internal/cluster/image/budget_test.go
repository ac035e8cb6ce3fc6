// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/image"
)

// saved writes an archive in the format of docker save.
func saved(t *testing.T, config string, names []string, layers map[string][]byte) string {
	t.Helper()
	files := []file{{"c.json", config}, {"manifest.json", `[{"Config":"c.json","Layers":["` + strings.Join(names, `","`) + `"]}]`}}
	for name, l := range layers {
		files = append(files, file{name, string(l)})
	}
	return put(t, archive(t, files...))
}

func put(t *testing.T, text []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

const byName = `{"config":{"Cmd":["app"],"Env":["PATH=%s"]}}`

// TestLayersOnce: the files of a layer count once, even if the layer is named many times and
// the program is searched in many directories.
func TestLayersOnce(t *testing.T) {
	var dirs, names []string
	for i := range 32 {
		dirs = append(dirs, fmt.Sprintf("/d%d", i))
	}
	for range 127 {
		names = append(names, "l")
	}
	var files []file
	for i := range 500 {
		files = append(files, file{fmt.Sprintf("f%d", i), "x"})
	}
	layer := map[string][]byte{"l": packed(t, archive(t, files...))}
	config := fmt.Sprintf(byName, strings.Join(dirs, ":"))
	spent, err := image.Spent(saved(t, config, names, layer), image.Allowance{})
	if err == nil || !strings.Contains(err.Error(), "lacks its program d0/app") {
		t.Errorf("%v", err)
	}
	// Three files of the archive and 500 of the layer, each with header and text.
	if spent.Entries != 503 || spent.Bytes > 600*1024 {
		t.Errorf("%+v", spent)
	}
	_, err = image.Spent(saved(t, config, append(names, "l"), layer), image.Allowance{})
	if err == nil || err.Error() != "the image has more than 127 layers" {
		t.Errorf("%v", err)
	}
}

// TestBudget: each part of the budget bounds the reading.
func TestBudget(t *testing.T) {
	const entry = `{"config":{"Entrypoint":["/srv/app"]}}`
	zeros := string(make([]byte, 1<<20))
	big := packed(t, archive(t, file{"a", zeros}, file{"b", zeros}))
	var many []file
	for i := range 300 {
		many = append(many, file{fmt.Sprintf("d%d/f", i), ""})
	}
	long := strings.Repeat("n", 3000)
	// Many headers for one file, of which only the last counts.
	header := archive(t, file{long, ""})
	chain := bytes.Repeat(header[:7*512], 40)
	deep := `{"config":{"Entrypoint":["` + strings.Repeat("/d", 1000) + `"]}}`
	for _, c := range []struct {
		name, config string
		layer        []byte
		of           image.Allowance
		want         string
	}{
		{"bytes", entry, big, image.Allowance{Bytes: 1 << 20}, "the image has more than 4 GiB unpacked"},
		{"files", entry, archive(t, many...), image.Allowance{Entries: 200}, "the image has more than 1000000 files"},
		{"directories", entry, archive(t, many...), image.Allowance{Entries: 400}, "the image has more than 1000000 files"},
		{"names", entry, archive(t, file{long, ""}), image.Allowance{Names: 2000}, "the image has more than 128 MiB of names"},
		{"headers", entry, append(chain, header...), image.Allowance{Headers: 50_000}, "the image has more than 64 MiB of long headers"},
		{"headers, packed", entry, packed(t, append(chain, header...)), image.Allowance{Headers: 50_000}, "the image has more than 64 MiB of long headers"},
		{"headers behind a file, packed", entry, packed(t, append(archive(t, file{"a", zeros})[:512+1<<20], append(chain, header...)...)), image.Allowance{Headers: 50_000}, "the image has more than 64 MiB of long headers"},
		{"steps", deep, archive(t, file{strings.Repeat("/d", 999), "->x"}), image.Allowance{Steps: 100_000}, "the image has too many links and directories"},
	} {
		spent, err := image.Spent(saved(t, c.config, []string{"l"}, map[string][]byte{"l": c.layer}), c.of)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s; %+v", c.name, err, c.want, spent)
		}
		c.of = image.Allowance{}
		if _, err := image.Spent(saved(t, c.config, []string{"l"}, map[string][]byte{"l": c.layer}), c.of); err == nil || !strings.Contains(err.Error(), "lacks its program") {
			t.Errorf("%s, with the standard budget: %v", c.name, err)
		}
	}
}

// TestNotKept: a candidate that is too large to keep is read again once it is known to be the
// program.
func TestNotKept(t *testing.T) {
	layer := packed(t, archive(t, file{"bin/app", strings.Repeat("x", 5000)}))
	name := saved(t, fmt.Sprintf(byName, "/bin"), []string{"l"}, map[string][]byte{"l": layer})
	once, err := image.Spent(name, image.Allowance{})
	if err != nil || once.Keep != 5000 {
		t.Fatalf("%+v, %v", once, err)
	}
	twice, err := image.Spent(name, image.Allowance{Keep: 4999})
	if err != nil || twice.Keep != 0 || twice.Bytes < once.Bytes+5000 {
		t.Errorf("%+v, %v; once %+v", twice, err, once)
	}
}

// TestBomb: an archive that decompresses to far more than its size is an error.
func TestBomb(t *testing.T) {
	bomb := packed(t, archive(t, file{"manifest.json", string(make([]byte, 8<<20))}))
	_, err := image.Spent(put(t, bomb), image.Allowance{})
	if err == nil || err.Error() != "unpacks to more than 200 times its size" {
		t.Errorf("%v", err)
	}
	cut := packed(t, archive(t, file{"manifest.json", "[]"}))
	if _, err := image.Spent(put(t, cut[:len(cut)-9]), image.Allowance{}); err == nil || err.Error() != "a damaged archive" {
		t.Errorf("%v", err)
	}
}

// TestNothingLeft: while a program is open, there is no file that a killed snug would leave
// behind.
func TestNothingLeft(t *testing.T) {
	temp := t.TempDir()
	name := put(t, packed(t, archive(t, layout(`{"config":{"Entrypoint":["/srv/app"]}}`, archive(t, file{"srv/app", "one"}))...)))
	for _, v := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(v, temp)
	}
	p, err := image.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 && runtime.GOOS != "windows" {
		t.Errorf("while it is open: %v, %v", left, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestPlatform checks which of several platforms is used.
func TestPlatform(t *testing.T) {
	one := func(digest, os, arch, variant string) string {
		return fmt.Sprintf(`{"digest":"sha256:%s","platform":{"os":"%s","architecture":"%s","variant":"%s"}}`, digest, os, arch, variant)
	}
	none := `{"digest":"sha256:att","platform":{"os":"unknown","architecture":"unknown"}}`
	for _, c := range []struct {
		name      string
		index     []string
		want      string // "!" is an error
		platforms int
	}{
		{"amd64 before arm64", []string{none, one("x", "linux", "s390x", ""), one("x", "linux", "arm64", "v8"), one("m", "linux", "amd64", "")}, "linux/amd64", 3},
		{"arm64 before others", []string{one("x", "linux", "s390x", ""), one("m", "linux", "arm64", "v8")}, "linux/arm64/v8", 2},
		{"the first of others", []string{one("m", "linux", "s390x", ""), one("x", "linux", "ppc64le", "")}, "linux/s390x", 2},
		{"the first of variants", []string{one("m", "linux", "amd64", ""), one("x", "linux", "amd64", "v3")}, "linux/amd64", 2},
		{"not Windows", []string{one("x", "windows", "amd64", ""), one("m", "linux", "arm64", "")}, "linux/arm64", 1},
		{"one, by its configuration", []string{`{"digest":"sha256:m"}`}, "linux/riscv64", 1},
		{"two images", []string{`{"digest":"sha256:m"}`, `{"digest":"sha256:x"}`}, "!more than one image in an index", 0},
		{"the same twice", []string{`{"digest":"sha256:m"}`, `{"digest":"sha256:m"}`}, "linux/riscv64", 1},
		{"none", []string{none}, "!the index has no image for Linux", 0},
	} {
		p, err := image.Open(put(t, archive(t,
			file{"index.json", `{"manifests":[` + strings.Join(c.index, ",") + `]}`},
			file{"blobs/sha256/m", `{"config":{"digest":"sha256:c"},"layers":[{"digest":"sha256:l"}]}`},
			file{"blobs/sha256/c", `{"os":"linux","architecture":"riscv64","config":{"Entrypoint":["/app"]}}`},
			file{"blobs/sha256/l", string(archive(t, file{"app", "one"}))},
		)))
		if why, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || err.Error() != why {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Platform != c.want || p.Platforms != c.platforms {
			t.Errorf("%s: %s of %d", c.name, p.Platform, p.Platforms)
		}
		p.Close()
	}
}

// TestSavedTwice: an archive of docker save may list an image twice, and a layer by a link.
func TestSavedTwice(t *testing.T) {
	manifest := func(configs ...string) file {
		var all []string
		for _, c := range configs {
			all = append(all, `{"Config":"`+c+`","Layers":["a/layer.tar"]}`)
		}
		return file{"manifest.json", "[" + strings.Join(all, ",") + "]"}
	}
	rest := []file{
		{"c", `{"config":{"Entrypoint":["/app"]}}`}, {"d", `{"config":{"Entrypoint":["/other"]}}`},
		{"a/layer.tar", "->../b/layer.tar"}, {"b/layer.tar", string(archive(t, file{"app", "one"}))},
	}
	var b bytes.Buffer
	if at, err := image.Program(put(t, archive(t, append(rest, manifest("c", "c"))...)), &b); err != nil || at != "app" || b.String() != "one" {
		t.Errorf("%s, %q, %v", at, b.String(), err)
	}
	if _, err := image.Program(put(t, archive(t, append(rest, manifest("c", "d"))...)), &b); err == nil || err.Error() != "2 images in one archive" {
		t.Errorf("%v", err)
	}
	if _, err := image.Program(put(t, archive(t, manifest("c"), rest[0], file{"a/layer.tar", "->layer.tar"})), &b); err == nil || err.Error() != "no file, a/layer.tar" {
		t.Errorf("%v", err)
	}
}
