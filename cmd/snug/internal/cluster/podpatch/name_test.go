// SPDX-License-Identifier: Apache-2.0

package podpatch_test

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// TestIsName: a DNS label has at most 63 characters.
func TestIsName(t *testing.T) {
	for text, ok := range map[string]bool{
		"a": true, "0": true, "a-b": true, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "a\n": false, "\u00e4": false,
	} {
		if podpatch.IsName(text) != ok {
			t.Errorf("%.70q: %t", text, !ok)
		}
	}
}
