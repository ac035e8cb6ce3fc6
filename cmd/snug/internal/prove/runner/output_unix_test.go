// SPDX-License-Identifier: Apache-2.0

//go:build unix

package runner

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestOutput(t *testing.T) {
	tests := []struct{ name, text, last string }{
		{"nothing", "", ""},
		{"last line", "hello\nlisten tcp :80: bind: address already in use\n\n", "listen tcp :80: bind: address already in use"},
		{"panic and its trace", "x\npanic: oh\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3\nexit status 2\n", "panic: oh"},
		{"among GC traces", "oops\ngc 1 @0.012s 2%: 0.018+0.48+0.003 ms clock, 0.03+0.1/0.4/0+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", "oops"},
		{"flood", strings.Repeat("noise\n", 1<<20) + "end", "end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o, err := newOutput(true)
			if err != nil {
				t.Fatal(err)
			}
			fd, err := syscall.Dup(int(o.w.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			o.started()
			w := os.NewFile(uintptr(fd), "w") // of the program
			w.WriteString(test.text)
			w.Close()
			<-o.done
			if got := o.lastLine(); got != test.last {
				t.Errorf("last line %q, want %q", got, test.last)
			}
			if len(o.tail) > 2*tailBytes+32<<10 {
				t.Errorf("%d bytes are kept", len(o.tail))
			}
			o.close()
		})
	}
}
