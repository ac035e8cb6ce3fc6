// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"testing"
)

// FuzzParse: the complete lines of a file parse as the file did, and an error returns
// nothing.
func FuzzParse(f *testing.F) {
	head := []byte(`{"snug":"v1","kind":"record","design":{"arms":[{"workload":"http","labels":["default"],"rate_rps":0}],"rounds":1,"seed":1,"max_tries":0},"setup":{"version":"v1"}}` + "\n")
	run := []byte(`{"arm":{"workload":"http"},"round":0,"order":0,"try":0,"seed":5,"cpu_seconds_per_op":0.0006}` + "\n")
	for _, seed := range [][]byte{nil, head, head[:20], run, append(bytes.Clone(head), run...), append(bytes.Clone(head), "\x00\x00\n"...), []byte("{}\n{}\n")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, runs, size, err := parse(data, "f")
		if err != nil {
			if h != nil || runs != nil || size != 0 {
				t.Fatal("an error, and something with it")
			}
			return
		}
		if size < 0 || size > int64(len(data)) {
			t.Fatalf("%d of %d bytes are whole", size, len(data))
		}
		h2, runs2, size2, err := parse(data[:size], "f")
		if err != nil || (h == nil) != (h2 == nil) || len(runs2) != len(runs) || size2 != size {
			t.Fatalf("the whole part reads as %d runs, %d bytes, %v; with the rest as %d, %d", len(runs2), size2, err, len(runs), size)
		}
	})
}
