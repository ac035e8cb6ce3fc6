// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"testing"
)

// TestTopTail: a flood on stderr is not kept whole.
func TestTopTail(t *testing.T) {
	var s tail
	for range 3 {
		if n, err := s.Write(bytes.Repeat([]byte("x"), mostSaid/2)); n != mostSaid/2 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(s.bytes()) != mostSaid {
		t.Errorf("%d bytes", len(s.bytes()))
	}
}
