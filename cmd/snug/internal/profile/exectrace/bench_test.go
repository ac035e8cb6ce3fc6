// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"testing"

	"golang.org/x/exp/trace"
)

// benchTrace returns the trace for benchmarks: the file SNUG_TRACE, or one of this
// process.
func benchTrace(b *testing.B) []byte {
	b.Helper()
	if name := os.Getenv("SNUG_TRACE"); name != "" {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	return record(b, busy).data
}

// BenchmarkBare reads all events and ignores them: the cost of the parser.
func BenchmarkBare(b *testing.B) {
	data := benchTrace(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := trace.NewReader(bufio.NewReaderSize(bytes.NewReader(data), 1<<20))
		if err != nil {
			b.Fatal(err)
		}
		for {
			e, err := r.ReadEvent()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			runtime.KeepAlive(&e)
		}
	}
}

// BenchmarkRead also computes the figures.
func BenchmarkRead(b *testing.B) {
	data := benchTrace(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s, err := Read(context.Background(), bytes.NewReader(data), Options{})
		if err != nil || s.Partial != nil {
			b.Fatal(err, s)
		}
	}
}
