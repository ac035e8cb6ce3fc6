// SPDX-License-Identifier: Apache-2.0

package govet

import "testing"

// TestFirstLine: the first line need not give the reason.
func TestFirstLine(t *testing.T) {
	for said, want := range map[string]string{
		"": "",
		"go: downloading x v1\n# m\n./a.go:5:12: undefined: b\n":          "./a.go:5:12: undefined: b",
		"go: warning: \"./a...\" matched no packages\nno packages to vet": "no packages to vet",
		"malformed go.sum:\n/a/go.sum:42: wrong number of fields 2\n":     "malformed go.sum: /a/go.sum:42: wrong number of fields 2",
		"go: errors parsing go.mod:\n/a/go.mod:3: unknown directive: x\n": "errors parsing go.mod: /a/go.mod:3: unknown directive: x",
	} {
		if got := firstLine(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}
