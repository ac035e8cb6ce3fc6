// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Place is where limits are read: --root and --pid.
type Place struct {
	root flagvalue.Text
	pid  flagvalue.PID
	fsys fs.FS // nil = this machine
}

const (
	rootHint = "--root takes the root directory of a tree (a node's /host), or a file that snug collect wrote"
)

// unopened returns the failure for a root that cannot be opened.
func unopened(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return message.Failed(name+": "+message.Reason(err), message.OwnerHint)
	}
	return message.Failed(name+": "+message.Reason(err), rootHint)
}

// Add adds the flags.
func (p *Place) Add(flags *pflag.FlagSet) {
	flags.Var(&p.root, "root", "read the tree in `DIR`, or a situation saved by snug collect")
	flags.Var(&p.pid, "pid", "read process `N` instead of this one (or the tree's proc/self)")
}

// FS returns the tree after Open; nil = this machine.
func (p *Place) FS() fs.FS { return p.fsys }

// PID returns the process; 0 = this one, or proc/self of the tree.
func (p *Place) PID() int { return int(p.pid) }

// Target returns the place for documents.
func (p *Place) Target() finding.Target {
	var t finding.Target
	if p.root != "" {
		t.Root = new(finding.UTF8(string(p.root)))
	}
	if p.pid != 0 {
		t.PID = new(int(p.pid))
	}
	return t
}

// args returns the flags for the same place, for a command to try next.
func (p *Place) args() string {
	var s string
	if p.root != "" {
		s += " --root " + message.Quote(string(p.root))
	}
	if p.pid != 0 {
		s += " --pid " + p.pid.String()
	}
	return s
}

// self reports whether the place is snug's own process.
func (p *Place) self() bool { return p.root == "" && p.pid == 0 }

// Open opens the root. Nothing outside it is ever opened: links that lead out of it are not
// followed.
func (p *Place) Open() error {
	if p.root == "" {
		return nil
	}
	name := string(p.root)
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return unopened(name, err)
	case info.IsDir():
		root, err := os.OpenRoot(name)
		if err != nil {
			return unopened(name, err)
		}
		p.fsys = &tree{root: root}
	case info.Mode().IsRegular():
		if p.fsys, err = openSituation(name); err != nil {
			return err
		}
	default:
		return message.Failed(name+": neither a directory nor a saved situation", rootHint)
	}
	return p.check()
}

func openSituation(name string) (fs.FS, error) {
	data, err := bounded.ReadFile(name, maxSituation)
	if err != nil {
		return nil, unopened(name, err)
	}
	s, err := fixture.Parse(data)
	if err != nil {
		var syntax *fixture.SyntaxError
		where := name
		what := err.Error()
		if errors.As(err, &syntax) {
			what, where = syntax.What, name+":"+strconv.Itoa(syntax.Line)
		}
		return nil, message.Failed(where+": not a saved situation: "+what, rootHint)
	}
	if !complete(data, s.Want) {
		return nil, message.Failed(name+": cut off", "its end is missing; save it again: snug collect -o FILE")
	}
	return s.FS, nil
}

// complete reports whether a saved situation is whole: want is its last file, and the last
// line of want gives GOMEMLIMIT (plan.Summary). Half a tree would give wrong limits.
func complete(data, want []byte) bool {
	last := bytes.TrimRight(want, "\n")
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	return bytes.HasPrefix(last, []byte("gomemlimit ")) && bytes.HasSuffix(want, []byte("\n")) &&
		bytes.HasSuffix(data, want)
}

// check fails early if the tree has no proc, so that a mistyped name does not look like a
// container without limits.
func (p *Place) check() error {
	for _, dir := range []string{"proc", "proc/self"} {
		if dir == "proc/self" && p.pid != 0 {
			break
		}
		info, err := fs.Stat(p.fsys, dir)
		where := string(p.root)
		switch {
		case err == nil && info.IsDir():
		case err == nil:
			return message.Failed(dir+" of "+where+": not a directory", rootHint)
		case !errors.Is(err, fs.ErrNotExist):
			return unopened(dir+" of "+where, err)
		case dir == "proc":
			return message.Failed(where+": no proc in this tree", rootHint)
		default:
			return message.Failed(where+": no proc/self in this tree", "name a process of it with --pid N")
		}
	}
	return nil
}

// read reads the limits of the place.
func (p *Place) read() (limits.Limits, error) {
	l, err := limits.Read(limits.Process{FS: p.fsys, PID: int(p.pid)})
	if err == nil {
		err = p.Alive()
	}
	return l, p.Failure(err)
}

// Alive returns limits.ErrNoProcess if the process ended while its limits were read: they may
// then be wrong.
func (p *Place) Alive() error {
	if p.pid == 0 {
		return nil
	}
	name := "proc/" + p.pid.String()
	var err error
	if p.fsys == nil {
		var stat []byte
		if stat, err = os.ReadFile("/" + name + "/stat"); err == nil && zombie(stat) {
			return limits.ErrNoProcess
		}
	} else {
		_, err = fs.Stat(p.fsys, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return limits.ErrNoProcess
	}
	return nil
}

// zombie reports whether a process has ended and its parent has not waited for it. The kernel
// has then moved it to the root group. The state follows the name (proc_pid_stat(5)).
func zombie(stat []byte) bool {
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// Failure turns an error of reading the place into a failure; nil stays nil.
func (p *Place) Failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, limits.ErrNoProcess):
		where := "pid " + p.pid.String()
		if p.root != "" {
			where += " of " + string(p.root)
		}
		return message.Failed(where+": no such process", "it may have ended, or belong to another PID namespace")
	case errors.Is(err, limits.ErrNotSupported):
		return message.Failed(err.Error(),
			"read a saved situation with --root FILE; snug collect writes one on the Linux machine")
	}
	return err
}

// environ returns a lookup of the process's environment. It gives only the variables that
// snug and Go read, because the rest may hold secrets. A tree without environments (a saved
// situation) has no variable set. SNUG variables of the caller, from own, win over those of
// the process. unknown holds warnings for SNUG variables that nothing reads.
func (p *Place) environ(own func(string) string) (getenv func(string) string, unknown []limits.Warning,
	gaps []finding.Gap) {
	if p.self() {
		return own, plan.UnknownNames(os.Environ()), nil
	}
	name := "proc/self/environ"
	if p.pid != 0 {
		name = "proc/" + p.pid.String() + "/environ"
	}
	var data []byte
	var err error
	if p.fsys == nil {
		data, err = os.ReadFile("/" + name)
	} else {
		data, err = fs.ReadFile(p.fsys, name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		gaps = append(gaps, finding.Gap{Field: "environment", File: "/" + name, Why: message.Reason(err)})
	}
	vars := map[string]string{}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		name, value, ok := strings.Cut(string(entry), "=")
		_, seen := vars[name]
		if ok && !seen && readable(name) {
			vars[name] = value
		}
	}
	return func(name string) string {
		if value := own(name); value != "" && strings.HasPrefix(name, "SNUG") {
			return value
		}
		return vars[name]
	}, plan.UnknownNames(strings.Split(string(data), "\x00")), gaps
}

// readable reports whether a variable of another process may be read.
func readable(name string) bool {
	switch name {
	case "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "SNUG":
		return true
	}
	return strings.HasPrefix(name, "SNUG_")
}
