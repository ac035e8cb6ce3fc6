// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/reporttest"
)

// tarred returns an archive of pairs of names and texts.
func tarred(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o755, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// saveImage returns the output of docker save for an image of one program.
func saveImage(t *testing.T, command, program string) string {
	t.Helper()
	return tarred(t, "manifest.json", `[{"Config":"c","Layers":["l"]}]`, "c", `{"config":{"Entrypoint":["`+command+`"]}}`,
		"l", tarred(t, strings.TrimPrefix(command, "/"), program))
}

// TestLintImageKinds checks that a file that is neither a program nor an image is an error, and that
// lint says so if a program starts another one, whose Go is unknown. Neither silences a finding.
func TestLintImageKinds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"pod.yaml": fmt.Sprintf(lintPod, "cart"), "text": "text", "empty": "", "src.tar": tarred(t, "main.go", "package main"),
		"src.tar.gz": reporttest.Zipped(t, tarred(t, "main.go", "package main")), "text.gz": reporttest.Zipped(t, "text"),
		"cart.tar.gz": reporttest.Zipped(t, saveImage(t, "/cart", string(program))), "text.tar": saveImage(t, "/cart", "text"),
		"tini.tar": saveImage(t, "/sbin/tini", "\x7fELF no program"), "script.tar": saveImage(t, "/start", "#!/bin/sh\n"),
		"elf.tar": saveImage(t, "/cart", "\x7fELF no program"), "start": "#!/bin/sh\n", "arm.elf": "\x7fELF no program", "dir/x": "",
		"cut.tar.gz": reporttest.Zipped(t, saveImage(t, "/cart", "x"))[:100],
	})
	for _, c := range []struct{ file, failure, unknown, procs string }{
		{"cart.tar.gz", "", "", "warning"},
		{"elf.tar", "", "", ""},
		{"arm.elf", "", "", ""},
		{"text", "a file of another kind, so neither a program nor an image, text", "", ""},
		{"pod.yaml", "a file of another kind, so neither a program nor an image, pod.yaml", "", ""},
		{"empty", "an empty file, so neither a program nor an image, empty", "", ""},
		{os.DevNull, "a special file, so neither a program nor an image, " + os.DevNull, "", ""},
		{"dir", "a directory without an index.json, so not an OCI layout, dir", "", ""},
		{"src.tar", "a file of another kind, so neither a program nor an image, src.tar", "", ""},
		{"src.tar.gz", "a file of another kind, so neither a program nor an image, src.tar.gz", "", ""},
		{"text.gz", "a file of another kind, so neither a program nor an image, text.gz", "", ""},
		{"cut.tar.gz", "so neither a program nor an image, cut.tar.gz", "", ""},
		{"text.tar", "an image whose program cart is a file of another kind, text.tar", "", ""},
		{"start", "", "a script for /bin/sh, which starts another program; name the program itself: --image cart=FILE", "info"},
		{"script.tar", "", "an image that starts a script for /bin/sh, which starts another program; name the program itself: --image cart=FILE", "info"},
		{"tini.tar", "", "an image that starts tini, which starts another program; name the program itself: --image cart=FILE", "info"},
	} {
		d, code, talk := lintIn(t, dir, "--fail-on", "never", "--image", "cart="+c.file, "pod.yaml")
		if c.failure != "" {
			if code != message.ExitFailed || !strings.Contains(talk, "snug: error: cannot read, ") || !strings.Contains(talk, c.failure) || !strings.Contains(talk, "snug: hint: --image NAME=FILE: ") {
				t.Errorf("%s: exit code %d, %s", c.file, code, talk)
			}
			continue
		}
		got := ""
		for _, m := range d.Findings {
			if m.ID == "gomaxprocs-pins" {
				got = string(m.Severity)
			}
		}
		if code != message.ExitFine || got != c.procs {
			t.Errorf("%s: %q, want %q, exit code %d, %s", c.file, got, c.procs, code, talk)
		}
		if want := c.unknown; want == "" && len(d.Unknown) > 0 || want != "" && (len(d.Unknown) != 1 || d.Unknown[0] != finding.Gap{Field: "program", File: c.file, Why: want}) {
			t.Errorf("%s: %+v", c.file, d.Unknown)
		}
	}
}

// TestLintImageNames checks that a name without a container is reported, because it has no effect.
func TestLintImageNames(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"pod.yaml":     fmt.Sprintf(lintPod, "example.org:5000/team/cart:v1@sha256:0"),
		"compose.yaml": "services:\n  a: {image: 'shop:2'}\n",
	})
	const said = "note: no container has this image, --image "
	for name, unused := range map[string]bool{
		"cart": false, "example.org:5000/team/cart": false, "example.org:5000/team/cart:v1": false, "shop": false, "shop:2": false, "*": false,
		"typo": true, "cart:v1": true, "team/cart": true, "example.org": true, "shop:1": true,
	} {
		_, code, talk := lintIn(t, dir, "--fail-on", "never", "--image", name+"="+self, ".")
		if want := "snug: " + said + name + "\n"; strings.Contains(talk, want) != unused || !unused && strings.Contains(talk, said) || code != message.ExitFine {
			t.Errorf("%s: exit code %d, %q", name, code, talk)
		}
	}
	if _, code, talk := lintIn(t, dir, "--image", "cart="+self, "--image", "cart="+self, "."); code != message.ExitUsage || !strings.Contains(talk, "an image is named twice, --image cart") {
		t.Errorf("exit code %d, %s", code, talk)
	}
}

// TestLintImagePlatform checks that lint says which platform of an image it read.
func TestLintImagePlatform(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"pod.yaml": fmt.Sprintf(lintPod, "cart"),
		"image.tar": tarred(t,
			"index.json", `{"manifests":[{"digest":"sha256:a","platform":{"os":"linux","architecture":"arm64"}},{"digest":"sha256:m","platform":{"os":"linux","architecture":"amd64"}}]}`,
			"blobs/sha256/m", `{"config":{"digest":"sha256:c"},"layers":[{"digest":"sha256:l"}]}`,
			"blobs/sha256/c", `{"config":{"Entrypoint":["/cart"]}}`, "blobs/sha256/l", tarred(t, "cart", "\x7fELF no program")),
	})
	_, code, talk := lintIn(t, dir, "--fail-on", "never", "--image", "*=image.tar", "pod.yaml")
	if want := "snug: note: an image for 2 platforms, linux/amd64 is checked, image.tar\n"; code != message.ExitFine || talk != want {
		t.Errorf("exit code %d, %q", code, talk)
	}
}
