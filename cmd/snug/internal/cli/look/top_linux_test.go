// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"testing"
)

// TestTopStderr checks that a flood on stderr is cut.
func TestTopStderr(t *testing.T) {
	var s head
	for range 3 {
		if n, err := s.Write(bytes.Repeat([]byte("x"), maxStderr/2)); n != maxStderr/2 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(s.bytes()) != maxStderr {
		t.Errorf("%d bytes", len(s.bytes()))
	}
}
