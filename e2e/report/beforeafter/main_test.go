// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

// TestPicture: README.md shows the data.
func TestPicture(t *testing.T) {
	want, err := os.ReadFile("../../../docs/before-after.svg")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := picture(&got, "../../../experiments/2026-11-24-before-after"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("docs/before-after.svg is not what this program draws: go run ./e2e/report/beforeafter experiments/2026-11-24-before-after >docs/before-after.svg")
	}
}
