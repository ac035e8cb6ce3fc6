// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// result is the plan for a program in a container, and what the program used.
type result struct {
	plan         planned
	alone, byRun used
}

// record is a table of results. With SNUG_RECORD=DIR it is written to that directory, in a file
// named after the test.
type record struct {
	mu   sync.Mutex
	rows []string
}

const head = "program\tcontainer\tgo\tplan: by itself\tby automaxprocs\tunless set by\tautomemlimit\tused alone\tGOMEMLIMIT alone\tplan\tGOMEMLIMIT planned\tused by run\tGOMEMLIMIT by run\n"

func (r *record) add(res result, program, container string) {
	p := &res.plan
	planned := "-"
	if n := p.GOMEMLIMIT.Value; n != nil {
		planned = strconv.FormatInt(*n, 10)
	}
	row := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%v\t%d\t%d\t%s\t%s\t%d\t%d\n", program, container, p.Runtime.Go,
		number(p.Runtime.GOMAXPROCS), number(p.Runtime.Automaxprocs), cmp.Or(strings.Join(p.Program.Sets, " "), "-"), p.Runtime.Automemlimit,
		res.alone.procs, res.alone.memory, number(p.GOMAXPROCS.Value), planned, res.byRun.procs, res.byRun.memory)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
}

func (r *record) write(t *testing.T) {
	dir := os.Getenv("SNUG_RECORD")
	if dir == "" {
		return
	}
	slices.Sort(r.rows)
	if err := os.WriteFile(filepath.Join(dir, t.Name()+".tsv"), []byte(head+strings.Join(r.rows, "")), 0o644); err != nil {
		t.Error(err)
	}
}

// number formats a number; nil = "-".
func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}
