// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

// place is where limits are read: --root and --pid.
type place struct {
	root string
	pid  pidFlag
	fsys fs.FS // nil = this machine
}

const (
	rootHint  = "--root takes the root directory of a tree (a node's /host), or a file that snug collect wrote"
	ownerHint = "read it as the user who owns it, or as root"
)

// unopened is a root that cannot be opened.
func unopened(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return failed(reason(err)+", "+name, ownerHint)
	}
	return failed(reason(err)+", "+name, rootHint)
}

func (p *place) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.root, "root", "", "read the tree in `DIR`, or a situation saved by snug collect")
	cmd.Flags().Var(&p.pid, "pid", "read process `N` instead of this one (or the tree's proc/self)")
}

// pidFlag is a process number, 0 when none was given.
type pidFlag int

func (p *pidFlag) String() string { return strconv.Itoa(int(*p)) }
func (p *pidFlag) Type() string   { return "N" }
func (p *pidFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("a process number from 1")
	}
	*p = pidFlag(n)
	return nil
}

// target is the place as documents name it.
func (p *place) target() finding.Target {
	var t finding.Target
	if p.root != "" {
		t.Root = new(utf8Only(p.root))
	}
	if p.pid != 0 {
		t.PID = new(int(p.pid))
	}
	return t
}

// args are the flags that lead to the same place, for a command to try next.
func (p *place) args() string {
	var s string
	if p.root != "" {
		s += " --root " + shellQuote(p.root)
	}
	if p.pid != 0 {
		s += " --pid " + p.pid.String()
	}
	return s
}

// self reports whether the place is snug's own process.
func (p *place) self() bool { return p.root == "" && p.pid == 0 }

// open makes the place ready to be read. Nothing outside of a root is ever
// opened: links that lead out of it cannot be followed.
func (p *place) open() error {
	if p.root == "" {
		return nil
	}
	info, err := os.Stat(p.root)
	switch {
	case err != nil:
		return unopened(p.root, err)
	case info.IsDir():
		root, err := os.OpenRoot(p.root)
		if err != nil {
			return unopened(p.root, err)
		}
		p.fsys = tree{root}
	case info.Mode().IsRegular():
		if p.fsys, err = openSituation(p.root); err != nil {
			return err
		}
	default:
		return failed("neither a directory nor a saved situation, "+p.root, rootHint)
	}
	return p.check()
}

func openSituation(name string) (fs.FS, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unopened(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
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
		return nil, failed("not a saved situation: "+what+", "+where, rootHint)
	}
	return s.FS, nil
}

// check finds out early that a tree cannot have what is looked for in it, so
// that a slip of the finger does not look like a container without limits.
func (p *place) check() error {
	for _, dir := range []string{"proc", "proc/self"} {
		if dir == "proc/self" && p.pid != 0 {
			break
		}
		_, err := fs.Stat(p.fsys, dir)
		switch {
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			return failed(reason(err)+", "+dir+" of "+p.root, ownerHint)
		case dir == "proc":
			return failed("no proc in this tree, "+p.root, rootHint)
		default:
			return failed("no proc/self in this tree, "+p.root, "name a process of it with --pid N")
		}
	}
	return nil
}

// read reads the limits there.
func (p *place) read() (limits.Limits, error) {
	l, err := limits.Read(p.fsys, int(p.pid))
	return l, p.failure(err)
}

// failure says what reading there ran into; nil for a nil error.
func (p *place) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, limits.ErrNoProcess):
		where := "pid " + p.pid.String()
		if p.root != "" {
			where += " of " + p.root
		}
		return failed("no such process, "+where, "it may have ended, or belong to another PID namespace")
	case errors.Is(err, limits.ErrNotSupported):
		return failed(err.Error(), "read a saved situation with --root FILE; snug collect writes one on the Linux machine")
	}
	return err
}

// environ looks up what the process there has in its environment, and only the
// names that snug and Go read: the rest of an environment holds secrets. A
// tree without environments (a saved situation) has nothing set. The SNUG
// variables of whoever asks win over those of the process.
func (p *place) environ(own func(string) string) (func(string) string, []finding.Gap) {
	if p.self() {
		return own, nil
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
	var gaps []finding.Gap
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		gaps = append(gaps, finding.Gap{Field: "environment", File: "/" + name, Why: reason(err)})
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
	}, gaps
}

// readable reports whether a variable of another process may be looked at.
func readable(name string) bool {
	switch name {
	case "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "SNUG":
		return true
	}
	return strings.HasPrefix(name, "SNUG_")
}

// shellQuote makes a word that a shell reads back as it is.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
