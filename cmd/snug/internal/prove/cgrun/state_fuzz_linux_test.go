// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzSweep: a record, whatever it says, makes nothing go that is no group of its own name.
func FuzzSweep(f *testing.F) {
	const name = "snug-0123456789abcdef"
	f.Add([]byte(`{"boot_id":"BOOT","groups":["DIR/snug-0123456789abcdef"]}`))
	f.Add([]byte(`{"boot_id":"BOOT","groups":["/sys/fs/cgroup/snug-0123456789abcdef/../.."]}`))
	f.Add([]byte(`{"boot_id":"","groups":[""]}`))
	dir := f.TempDir()
	decoy := filepath.Join(dir, "other", name)
	if err := os.MkdirAll(decoy, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("BOOT"), []byte(bootID())), []byte("DIR"), []byte(filepath.Dir(decoy)))
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		sweepOne(file, name)
		if _, err := os.Stat(decoy); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
