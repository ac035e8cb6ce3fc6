// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"io/fs"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/oracle"
)

// A kernel is a tree that, like this machine, has device and inode numbers.
type kernel struct{ w *oracle.World }

// ReadWorld reads a world in the way Self and Read read this machine.
func ReadWorld(w *oracle.World) (l Limits) {
	r := reader{tree: kernel{w}, tables: []string{ownMounts}, self: int64(w.Process.Pid)}
	proc := "/proc/self"
	if w.Process.Other {
		r.pid, proc = w.Process.Pid, "/proc/42"
	}
	r.start(proc)
	r.resolve()
	r.readLevels()
	r.evaluate(&l, Of(16))
	if m := &l.Memory; m.Hard.State != Known && m.Soft.State != Known {
		if r.readHost(); r.host.State == Unknown {
			l.failed("memory.host_bytes", &r.meminfo, "no MemTotal")
		}
	}
	return l
}

func (k kernel) read(name string, buf []byte, _ bool) ([]byte, error) {
	text, err := k.w.Read(name)
	return append(buf[:0], text...), err
}

func (k kernel) missing(name string) bool {
	_, _, err := k.w.Walk(name)
	return err == fs.ErrNotExist
}

func (k kernel) group(dir string, m *cgroup.Mount) error {
	_, d, err := k.w.Walk(dir)
	switch {
	case err == fs.ErrNotExist:
		return errNoDirectory
	case err != nil:
		return err
	case d.Denied:
		return fs.ErrPermission
	case uint32(d.Tree.Minor) != m.Minor:
		return errCovered
	case d.Gone:
		return errNoProcs
	}
	return nil
}

func (k kernel) list(dir string, f func(name string, inode uint64) bool) error {
	_, d, err := k.w.Walk(strings.TrimSuffix(dir, "/"))
	switch {
	case err != nil:
		return err
	case d.Denied:
		return fs.ErrPermission
	}
	for _, kid := range d.Kids {
		if !f(kid.Name, kid.Inode) {
			return nil
		}
	}
	return nil
}

func (k kernel) inode(name string) (n uint64, ok bool) {
	if _, d, err := k.w.Walk(name); err == nil {
		return d.Inode, true
	}
	_, err := k.w.Read(name)
	return 0, err == nil
}

func (kernel) release()                   {}
func (kernel) memory(bool) (int64, int64) { return 0, -1 }
func (kernel) exchanged(string) bool      { return false }
func (kernel) sealed() bool               { return false }
