// SPDX-License-Identifier: Apache-2.0

package content

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestCalls(t *testing.T) {
	stack := func(names ...string) (list []finding.Call) {
		for i, name := range names {
			list = append(list, finding.Call{Function: name, File: "/src/x.go", Line: i})
		}
		return list
	}
	for _, c := range []struct {
		stack []finding.Call
		want  string
	}{
		{nil, ""},
		{stack("main.f"), "main.f"},
		{stack("runtime.gopark", "sync.runtime_Semacquire", "internal/poll.(*FD).Read", "net.(*conn).Read", "main.f"), "net.(*conn).Read (x.go:3) < main.f (x.go:4)"},
		{stack("runtime.gopark", "runtime.malg"), "runtime.gopark < runtime.malg (x.go:1)"},
		{stack("a/b/c.f", "a/b.(*T[...]).g", "main.h", "main.i"), "c.f < b.(*T[...]).g (x.go:1) < main.h (x.go:2) < ..."},
		{stack("main.\x1b[31m"), `main.\x1b[31m`},
	} {
		if got := Calls(c.stack); got != c.want {
			t.Errorf("%v: %q, want %q", c.stack, got, c.want)
		}
	}
}
