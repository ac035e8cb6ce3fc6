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

// benchTrace is the trace that benchmarks read: the file SNUG_TRACE, or one of a
// program that is made here.
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

// BenchmarkBare reads all events and does nothing with them: what the parser takes.
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

// BenchmarkRead is what takes the figures as well.
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
