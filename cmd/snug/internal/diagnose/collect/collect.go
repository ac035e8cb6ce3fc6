// SPDX-License-Identifier: Apache-2.0

// Package collect saves the situation of a process: every file that its limits are read
// from, in the format of package fixture. A report of a wrong answer can then be replayed
// and become a test.
//
// It saves the cgroup file, the mount table and the allowed CPUs of proc/PID, MemTotal, and
// the known files of every visible cgroup. It never saves an environment or a command line.
// Unless raw is set, it replaces every name, id and path by a made-up one, consistently.
package collect

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Situation saves the situation of a process. pid 0 is this process, or the tree's
// proc/self; a nil fsys is this machine. In the saved situation the process is proc/self, and
// Want is what snug reads and decides there. With raw nothing is replaced. The errors are
// those of limits.Read and errTooLarge.
func Situation(fsys fs.FS, pid int, raw bool) (*fixture.Situation, error) {
	r := &recorder{tree: fsys, pid: pid, files: map[string]entry{}, dirs: map[string]bool{}, denied: map[string]bool{}}
	if fsys == nil {
		if runtime.GOOS != "linux" {
			return nil, limits.ErrNotSupported
		}
		r.tree, r.live = os.DirFS("/"), true
	}
	if _, err := limits.Read(limits.Process{FS: r, PID: pid}); err != nil {
		return nil, err
	}
	r.widen()
	saved, err := r.situation(raw)
	if err != nil {
		return nil, err
	}
	if r.size > maxSaved {
		return nil, errTooLarge
	}
	again, err := limits.Read(limits.Process{FS: saved.FS})
	if err != nil {
		return nil, err
	}
	saved.Want = plan.Summary(&again, plan.Decide(&plan.Input{Limits: again}))
	return saved, nil
}

// maxSaved bounds the size of a saved tree, in bytes. A real one has a few hundred kilobytes
// at most; a hostile one may have thousands of levels.
const maxSaved = 12 << 20

var errTooLarge = errors.New("too large to save, more than 12 MiB of cgroup files")

// recorder is a file system that records what is read from it. It reads each file once, so
// that the saved content is what package limits saw.
type recorder struct {
	tree   fs.FS
	live   bool // this machine
	pid    int
	files  map[string]entry
	size   int             // of all files, in bytes
	dirs   map[string]bool // directories that exist
	denied map[string]bool // directories without search permission
	table  string          // the mount table that was used: the last one opened
}

// entry is the result of reading one file.
type entry struct {
	text []byte
	err  error
}

func (r *recorder) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "/mountinfo") {
		r.table = name
	}
	e := r.read(name)
	if err := e.saved(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{*bytes.NewReader(e.text), path.Base(name)}, nil
}

func (r *recorder) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(r.tree, name)
	denied := errors.Is(err, fs.ErrPermission)
	switch {
	case denied && path.Base(name) == procs:
		r.denied[path.Dir(name)] = true
	case denied:
		r.denied[name] = true
	case err == nil && info.IsDir():
		r.dirs[name] = true
	}
	if err == nil && path.Base(name) == procs {
		r.read(name) // its presence marks a cgroup
	}
	return info, err
}

// ReadDir lists a directory. Only the files that are read are saved with it.
func (r *recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(r.tree, name)
	if err == nil {
		r.dirs[name] = true
	}
	return entries, err
}

// procs is the file with the processes in a cgroup. Only the saved process is kept in it.
const procs = "cgroup.procs"

// self returns the pid of the process in the tree.
func (r *recorder) self() int64 {
	if r.pid != 0 {
		return int64(r.pid)
	}
	if r.live {
		return int64(os.Getpid())
	}
	status, _ := fs.ReadFile(r.tree, "proc/self/status")
	pid, _ := cgroup.Field(status, "Pid:")
	return pid
}

func (r *recorder) read(name string) entry {
	if e, ok := r.files[name]; ok {
		return e
	}
	if r.size > maxSaved {
		return entry{err: syscall.EFBIG}
	}
	text, err := r.readTree(name)
	if r.live && r.pid != 0 && name == "proc/1/mountinfo" {
		// For a live process, limits looks the cgroup up in snug's own mounts.
		err = fs.ErrNotExist
	}
	e := entry{err: err}
	if err == nil {
		e.text = only(name, text)
		if path.Base(name) == procs && len(text) > 0 {
			e.text = nil
			if pid := r.self(); cgroup.Names(text, pid) {
				e.text = strconv.AppendInt(nil, pid, 10)
				e.text = append(e.text, '\n')
			}
		}
	}
	r.size += len(e.text)
	r.files[name] = e
	return e
}

// readTree reads a file and refuses anything that could block: a hostile container may have
// mounted a pipe over a file of its cgroup.
func (r *recorder) readTree(name string) ([]byte, error) {
	if r.live {
		if info, err := fs.Stat(r.tree, name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil, syscall.EIO
		}
	}
	return fs.ReadFile(r.tree, name)
}

// excerpts lists, for files with more content than limits reads, the prefixes of the lines to
// keep.
var excerpts = map[string][]string{
	"status":      {"Cpus_allowed", "Pid:"},
	"meminfo":     {"MemTotal:", "Hugetlb:", "HugePages_Total:", "Hugepagesize:"},
	"memory.stat": {"cache ", "rss ", "mapped_file ", "swap ", "hierarchical_"},
}

func only(name string, text []byte) []byte {
	keep, ok := excerpts[path.Base(name)]
	if !ok {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if slices.ContainsFunc(keep, func(k string) bool { return bytes.HasPrefix(line, []byte(k)) }) {
			out = append(out, line...)
		}
	}
	return out
}

// known lists the files of a cgroup that limits reads at some levels, by a file that it reads
// at every level. Two of them only explain a v2 group.
var known = map[string][]string{
	"cpu.max": {
		"cgroup.controllers", "cgroup.type",
		"cpu.max.burst", "cpu.pressure", "cpu.stat", "cpu.weight", "cpuset.cpus.effective",
	},
	"memory.max": {
		"cgroup.controllers", "cgroup.type",
		"memory.current", "memory.events", "memory.high", "memory.pressure", "memory.swap.current", "memory.swap.max",
	},
	"cpu.cfs_quota_us": {"cpu.cfs_burst_us", "cpu.cfs_period_us", "cpu.shares", "cpu.stat"},
	"memory.limit_in_bytes": {"memory.failcnt", "memory.memsw.limit_in_bytes", "memory.oom_control", "memory.stat",
		"memory.usage_in_bytes"},
}

// widen reads the known files at every level that limits read.
func (r *recorder) widen() {
	names := make([]string, 0, len(r.files))
	for name := range r.files {
		names = append(names, name)
	}
	for _, name := range names {
		dir, base := path.Split(name)
		for _, other := range known[base] {
			r.read(dir + other)
		}
	}
}

// situation returns the saved tree, with the process as proc/self.
func (r *recorder) situation(raw bool) (*fixture.Situation, error) {
	s := scrubber{raw: raw, names: map[string]string{}}
	proc := "proc/self"
	if r.pid != 0 {
		proc = "proc/" + strconv.Itoa(r.pid)
	}
	tree := fixture.NewFS()
	groups := map[string]bool{} // directories in which limits were read or looked for
	for name := range r.files {
		if path.Base(name) != procs {
			groups[path.Dir(name)] = true
		}
	}
	// Sorted, so that made-up names are deterministic.
	for _, name := range sorted(r.files) {
		e := r.files[name]
		to := name
		switch {
		case strings.HasSuffix(name, "/mountinfo"):
			if name != r.table {
				continue
			}
			to = "proc/self/mountinfo"
			e.text = s.mountinfo(e.text)
		case name == proc+"/cgroup":
			to = "proc/self/cgroup"
			e.text = s.cgroup(e.text)
		case strings.HasPrefix(name, proc+"/"):
			to = "proc/self/" + path.Base(name)
		case name == "proc/meminfo":
		case path.Base(name) == procs && len(e.text) == 0 && !groups[path.Dir(name)]:
			continue // a directory that was only passed
		default:
			to = s.file(name)
			e.text = s.values(path.Base(name), e.text)
		}
		if err := put(tree, to, e); err != nil {
			return nil, err
		}
	}
	for dir := range r.denied {
		r.dirs[dir] = true
	}
	for _, dir := range sorted(r.dirs) {
		if strings.HasPrefix(dir, "proc") {
			dir = "proc/self"
		} else {
			dir = s.path(dir)
		}
		if _, err := tree.Stat(dir); err != nil {
			if err := tree.Mkdir(dir); err != nil {
				return nil, err
			}
		}
	}
	for _, dir := range sorted(r.denied) { // after what is in them
		if !strings.HasPrefix(dir, "proc") {
			if err := tree.Deny(s.path(dir)); err != nil {
				return nil, err
			}
		}
	}
	return &fixture.Situation{FS: tree, Comment: s.comment()}, nil
}

// saved returns the error of reading the file in the saved tree.
func (e entry) saved() error {
	switch {
	case e.err == nil:
		return nil
	case errors.Is(e.err, syscall.EISDIR):
		return syscall.EISDIR
	case errors.Is(e.err, fs.ErrNotExist), errors.Is(e.err, syscall.ENOTDIR):
		return fs.ErrNotExist
	case errors.Is(e.err, fs.ErrPermission):
		return fs.ErrPermission
	}
	for _, errno := range []syscall.Errno{syscall.ENODEV, syscall.ESRCH, syscall.EOPNOTSUPP} {
		if errors.Is(e.err, errno) {
			return errno
		}
	}
	return syscall.EIO
}

// file is a recorded file, open for reading.
type file struct {
	bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return info{f.name}, nil }
func (f *file) Close() error               { return nil }

// info describes a regular file of proc, which has no size.
type info struct{ name string }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }

// put writes the result of reading a file into a tree, so that reading it there gives the
// same result. An error that a tree cannot hold becomes EIO.
func put(tree *fixture.FS, name string, e entry) error {
	as := e.saved()
	switch {
	case as == fs.ErrNotExist:
		return nil
	case as == syscall.EISDIR:
		return tree.Mkdir(name)
	}
	if err := tree.Set(name, string(e.text)); err != nil || as == nil {
		return err
	}
	if as == fs.ErrPermission {
		return tree.Deny(name)
	}
	return tree.Fail(name, as)
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	// The process's own files come first: they fix the order of the made-up names.
	sort.Strings(names)
	slices.SortStableFunc(names, func(a, b string) int {
		return order(a) - order(b)
	})
	return names
}

func order(name string) int {
	switch path.Base(name) {
	case "cgroup":
		return 0
	case "mountinfo":
		return 1
	}
	return 2
}
