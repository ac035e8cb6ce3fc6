// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRemote: what the files of a process say, its memory says too.
func TestRemote(t *testing.T) {
	for name, env := range map[string][]string{
		"few variables":  {"GOMAXPROCS=3", "SNUG_X=y", "TOKEN=secret"},
		"many variables": append(strings.Split(strings.Repeat("V=x ", 9999)+"V=x", " "), "GOGC=50"),
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, asItIs, env...)
			files, remote := c.open(), c.open()
			if err := remote.remotely(); err != nil {
				t.Fatal(err)
			}
			if remote.auxvAt == 0 || !bytes.HasPrefix(files.auxv, remote.auxv) {
				t.Errorf("%x\nwant %x", remote.auxv, files.auxv)
			}
			want, err1 := files.Environ()
			got, err2 := remote.Environ()
			if !maps.Equal(got, want) || err1 != nil || err2 != nil || len(got) == 0 {
				t.Errorf("%q, want %q, %v, %v", got, want, err1, err2)
			}
			entry, err := remote.AuxEntry()
			a, err1 := files.Memory()
			b, err2 := remote.Memory()
			if err := errors.Join(err, err1, err2); err != nil {
				t.Fatal(err)
			}
			var x, y [4096]byte
			if _, err := a.ReadAt(x[:], int64(entry)); err != nil {
				t.Fatal(err)
			}
			if n, err := b.ReadAt(y[:], int64(entry)); n != len(y) || err != nil || x != y {
				t.Errorf("%d, %v, equal %t", n, err, x == y)
			}
			for _, addr := range []int64{0, -1, -1 << 63, 1<<63 - 1, 4096} {
				if n, err := b.ReadAt(y[:], addr); n != 0 || !errors.Is(err, ErrNone) {
					t.Errorf("address %#x: %d, %v", addr, n, err)
				}
			}
			if err := remote.Same(); err != nil {
				t.Error(err)
			}
			ranges := []Range{{entry, 8}, {entry + 4096, 1}, {entry, 4}, {0, 1}, {entry, 4}}
			for _, p := range []*Process{files, remote} {
				got := p.Gather(ranges, make([]byte, 9))
				if len(got) != 13 || !bytes.Equal(got[:8], x[:8]) || !bytes.Equal(got[9:], x[:4]) {
					t.Errorf("%x, want %x up to the first that cannot be read", got, x[:8])
				}
				if p.Gather(nil, nil) != nil || p.Gather([]Range{{0, 1}}, nil) != nil || p.Gather(make([]Range, maxRanges+1), nil) != nil {
					t.Error("it has read what is not there")
				}
			}
			fmt.Fprintln(c.in, "exec")
			c.up()
			gone(t, remote, false)
			if files.Gather(ranges, nil) != nil || remote.Gather(ranges, nil) != nil {
				t.Error("it has read another program")
			}
			next := c.open()
			if err := next.remotely(); err != nil {
				t.Fatal(err)
			}
			if _, err := next.Memory(); err != nil {
				t.Fatal(err)
			}
			c.cmd.Process.Kill()
			c.zombie()
			gone(t, next, false)
		})
	}
}

// TestTracerAlone: user 0 with CAP_SYS_PTRACE alone, as an agent runs in a pod, reads the process of another user.
func TestTracerAlone(t *testing.T) {
	root1(t)
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip(err)
	}
	exe := readable(t)
	c := start(t, func(cmd *exec.Cmd) {
		setpriv, _ := exec.LookPath("setpriv")
		cmd.Path, cmd.Args = setpriv, []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", exe}
	}, "GOMAXPROCS=3")
	cmd := exec.Command("setpriv", "--inh-caps=-all,+sys_ptrace", "--bounding-set=-all,+sys_ptrace", exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PROC_TEST_READ=%d", c.cmd.Process.Pid))
	if got, err := cmd.CombinedOutput(); err != nil || string(got) != "map[GOMAXPROCS:3] 8 <nil>\n" {
		t.Errorf("%s, %v", got, err)
	}
}

// readChild prints the environment of a process, and how much of its memory it can read.
func readChild(pid int) {
	p, err := Open(pid)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	env, err := p.Environ()
	if err != nil {
		fmt.Println(err)
		return
	}
	n := 0
	if mem, err2 := p.Memory(); err2 == nil {
		entry, _ := p.AuxEntry()
		n, err = mem.ReadAt(make([]byte, 8), int64(entry))
	}
	fmt.Println(env, n, err)
}
