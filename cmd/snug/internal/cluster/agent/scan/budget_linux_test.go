// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// sparse maps the files of a directory for execution, for as long as the process lives.
func sparse(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		f, err := os.Open(name)
		if err == nil {
			_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// sparseFiles makes files that are programs without a table of sections, whose data is searched.
func sparseFiles(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	head := make([]byte, 4096)
	copy(head, "\x7fELF\x02\x01\x01")
	for at, v := range map[int]byte{16: 3, 18: 62, 32: 64, 52: 64, 54: 56, 56: 1, 64: 1, 68: 6} {
		head[at] = v
	}
	for _, at := range []int{64 + 8, 64 + 16} { // p_offset, p_vaddr
		head[at+1] = 0x10
	}
	for _, at := range []int{64 + 32, 64 + 40} { // p_filesz, p_memsz
		head[at+3] = 4 // 64 MiB
	}
	for i := range n {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, head, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 80<<20); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// notGo returns a copy of this program that does not look like one that Go built.
func notGo(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{".go.buildinfo", ".note.go.buildid", ".gopclntab"} {
		text = bytes.ReplaceAll(text, []byte(section+"\x00"), []byte(strings.ReplaceAll(section, "go", "xx")+"\x00"))
	}
	name := filepath.Join(t.TempDir(), "foreign")
	if err := os.WriteFile(name, text, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTooMuch: a process with more files than are searched is unknown and not one without Go, is looked at again after ten
// scans, and costs another process nothing.
func TestTooMuch(t *testing.T) {
	t.Setenv("AGENT_TEST_SPARSE", sparseFiles(t, 8))
	hostile := start(t, notGo(t))
	hostile.says("ready")
	t.Setenv("AGENT_TEST_SPARSE", "")
	plain, fine := start(t, notGo(t)), start(t)
	plain.says("ready")
	fine.says("ready")
	a := newScanner(t, Options{})
	looked := 0
	for range 2*muchEvery + 2 {
		before := a.others[hostile.pid()].due
		d := scan(t, a)
		want := finding.Gap{Field: "process", File: fmt.Sprintf("/proc/%d", hostile.pid()), Why: proc.ErrTooMuch.Error()}
		if !slices.Contains(d.Unknown, want) || count(d, snapshot.SkipMuch) < 1 {
			t.Fatalf("%+v, %+v", d.Unknown, d.Skipped)
		}
		if _, p := find(d, fine.pid()); p == nil || p.GOMAXPROCS.N != 3 || a.others[plain.pid()].much != "" {
			t.Fatalf("%+v, %+v", p, a.others[plain.pid()])
		}
		if a.others[hostile.pid()].due != before {
			looked++
		}
	}
	if looked != 3 {
		t.Errorf("it was looked at %d times", looked)
	}
}

// spent returns a budget that is used up.
func spent(t *testing.T) *proc.Budget {
	b := proc.NewBudget(t.Context(), proc.Amount{Time: proc.OneLook.Time}, nil)
	if b.Take(1) == nil {
		t.Error("there is room")
	}
	return b
}

// TestFilesInTurn: pages that a scan has no reads left for are those of an earlier one, and the next scan counts them.
func TestFilesInTurn(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{})
	scan(t, a)
	e := a.known[c.pid()]
	for _, known := range []float64{0, 5} {
		e.files, e.code = known, known
		a.budgets.files.pods[e.pod] = spent(t)
		if a.lookAtFiles(e); e.files != known || e.code != known || !e.filesAt.IsZero() {
			t.Errorf("%v: %v of files, %v of code, read %v", known, e.files, e.code, e.filesAt)
		}
	}
	a.budgets = budgetsOf(t.Context(), false)
	if a.lookAtFiles(e); e.code <= 0 || e.files < e.code || !e.filesAt.Equal(e.last.At) {
		t.Errorf("%v of files, %v of code, read %v", e.files, e.code, e.filesAt)
	}
}

// TestKnownInTurn: of a pod that lets read too much of its known processes, each keeps the figures that it had, and is named.
// What is read of other pods stays the same.
func TestKnownInTurn(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{})
	scan(t, a)
	s, e := a, a.known[c.pid()]
	for i, spend := range []bool{false, true, true, false} {
		s.budgets = budgetsOf(t.Context(), false)
		pod := "another"
		if spend {
			pod = e.pod
		}
		for s.budgets.known.look(t.Context(), knownLook, pod).Take(1<<20) == nil {
		}
		before := e.last.Go
		if !s.lookAgain(e) || (e.last.Go == before) != spend || e.last.Go.GOMAXPROCS.N != 3 || (len(s.budgets.gaps) == 1) != spend {
			t.Errorf("look %d: kept %t, %+v, %+v", i, e.last.Go == before, e.last.Go.GOMAXPROCS, s.budgets.gaps)
		}
	}
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if s.budgets.known.pods[e.pod] = spent(t); s.lookAgain(e) {
		t.Error("it has ended, and is known")
	}
}

// TestEvicted: a known process whose program the cache has forgotten is read as at the first look.
func TestEvicted(t *testing.T) {
	c := start(t)
	c.says("ready")
	a := newScanner(t, Options{})
	scan(t, a)
	defer func(was proc.Amount) { knownLook = was }(knownLook)
	knownLook = proc.Amount{Bytes: 256 << 10, Calls: 200, Time: proc.OneLook.Time}
	s, e := a, a.known[c.pid()]
	for _, forget := range []bool{false, true} {
		if forget {
			s.files = goproc.NewCache("")
		}
		for s.tick++; !s.due(e.last.Go, wholeEvery); s.tick++ {
		}
		s.budgets = budgetsOf(t.Context(), false)
		before := e.last.Go
		if !s.lookAgain(e) || e.last.Go == before || e.last.Go.GOMAXPROCS.N != 3 || s.files.Len() == 0 {
			t.Errorf("forgotten %t: %+v", forget, e.last.Go.GOMAXPROCS)
		}
	}
}

// TestInTurn: the process for which nothing was left comes first.
func TestInTurn(t *testing.T) {
	for first, want := range map[int]string{0: "1 5 9", 1: "1 5 9", 2: "5 9 1", 5: "5 9 1", 9: "9 1 5", 10: "1 5 9"} {
		list := inTurn([]proc.Entry{{Pid: 1}, {Pid: 5}, {Pid: 9}}, first)
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprint(e.Pid))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d: %q, want %s", first, got, want)
		}
	}
}

// TestBudgets: what a pod has used up is left to others, and what the scan has used up to nobody.
func TestBudgets(t *testing.T) {
	s := &Scanner{tick: 7}
	s.budgets = budgetsOf(t.Context(), false)
	pod := func(n int) string {
		return fmt.Sprintf("0::/kubepods/pod00000000-0000-0000-0000-00000000000%d/%064d\n", n, n)
	}
	one, same := s.budgets.of(proc.OneLook, pod(1)), s.budgets.of(proc.OneLook, pod(1))
	for one.Take(1<<20) == nil {
	}
	if due, why := repeat(one, s.tick); due != 7+muchEvery || why != proc.ErrTooMuch.Error() {
		t.Errorf("its own: %d, %s", due, why)
	}
	for same.Take(1<<20) == nil {
	}
	if due, why := repeat(same, s.tick); same.Spent() || due != 8 || why == proc.ErrTooMuch.Error() {
		t.Errorf("its pod's: %d, %s", due, why)
	}
	for i := 2; i < 9; i++ {
		b := s.budgets.of(proc.OneLook, pod(i))
		if err := b.Take(4 << 20); (err == nil) != (i <= podPart) {
			t.Errorf("pod %d: %v", i, err)
		}
		for b.Take(1<<20) == nil {
		}
		for b = s.budgets.of(proc.OneLook, pod(i)); b.Take(1<<20) == nil; {
		}
	}
	var r result
	r.skipped = map[string]int{}
	s.tooMuch(42, "why", &r)
	if s.budgets.late != 42 || r.skipped[snapshot.SkipMuch] != 1 || !slices.Equal(s.budgets.gaps, []finding.Gap{{Field: "process", File: "/proc/42", Why: "why"}}) {
		t.Errorf("%+v, %+v", s.budgets, r)
	}
	s.budgets = budgetsOf(t.Context(), true)
	for i := range 9 {
		if b := s.budgets.of(proc.OneLook, pod(1)); b.Take(int(proc.OneLook.Bytes)) != nil {
			t.Errorf("--once: the %dth process", i)
		}
	}
}
