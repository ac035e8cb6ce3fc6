// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
)

// content is what a request sends: --body, or the file that it names.
func (l *lab) content() ([]byte, error) {
	file, isFile := strings.CutPrefix(l.body, "@")
	switch {
	case l.body == "":
		return nil, nil
	case !isFile:
		return []byte(l.body), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, failed("cannot read the body, "+reason(err)+", "+file, "--body takes text, or @FILE")
	}
	return b, nil
}

// writable makes sure, before an hour is spent, that a file can be written. Pipes
// are left alone: whoever reads would take that for all there is.
func writable(flag, file string) error {
	switch file {
	case "":
		return nil
	case "-":
		return usage("stdout has the answer, "+flag+" -", "name a file; snug report writes any form of a saved answer to stdout")
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	_, before := os.Lstat(file)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return failed("cannot write, "+reason(err)+", "+file, roomHint)
	}
	f.Close()
	if errors.Is(before, os.ErrNotExist) {
		os.Remove(file)
	}
	return nil
}

// checksum is the SHA-256 of a file in hex, "" when it cannot be read: a program
// that was built anew is another one.
func checksum(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
