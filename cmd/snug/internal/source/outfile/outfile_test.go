// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(t.TempDir(), "document")
	if err := os.WriteFile(document, []byte("{\n  \"snug\": \"v1\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	compressed := filepath.Join(t.TempDir(), "document.json.gz")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"snug": "v1"}`))
	z.Close()
	if err := os.WriteFile(compressed, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		code       int // -1: fine
	}{
		{"a document", document, message.ExitUsage},
		{"a compressed document", compressed, message.ExitUsage},
		{"none", "", -1},
		{"new", filepath.Join(dir, "new"), -1},
		{"there", there, -1},
		{"a device", os.DevNull, -1},
		{"stdout", "-", message.ExitUsage},
		{"a directory", dir, message.ExitFailed},
		{"in no directory", filepath.Join(dir, "nowhere", "new"), message.ExitFailed},
		{"below a file", filepath.Join(there, "new"), message.ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Writable("--html", c.file)
			var f *message.Failure
			if errors.As(err, &f) != (c.code >= 0) || f != nil && (f.Code != c.code || f.Hint == "") {
				t.Errorf("%+v, want exit code %d", err, c.code)
			}
		})
	}
	var names []string
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		names = append(names, filepath.Base(name))
		return err
	})
	if text, _ := os.ReadFile(there); len(names) != 2 || string(text) != "text" {
		t.Errorf("there is %q, with %q", names, text)
	}
}
