// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/engine"
	"github.com/snug-go/snug/cmd/snug/internal/prove/gotest"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
)

// container is where a command runs instead of here: the flags of --in.
type container struct {
	engine, image, snug string
	more                []string
}

// containerFlags are the flags that the snug inside does not get.
var containerFlags = []string{"in", "image", "in-arg", "snug-linux"}

func (c *container) add(fs *pflag.FlagSet) {
	flagvalue.Define(fs, "in", "run it in a container of `ENGINE`, docker or podman, on a machine without cgroups",
		"docker or podman", func(text string) (string, bool) {
			return text, slices.Contains(engine.Names, text)
		}, &c.engine)
	fs.StringVar(&c.image, "image", "", "the `IMAGE` of that container, which must be there (default an empty one)")
	fs.StringArrayVar(&c.more, "in-arg", nil, "also give `ARG` to docker run, such as --env=MODE=fast; repeatable")
	fs.Var((*flagvalue.Text)(&c.snug), "snug-linux", "snug for Linux, a `FILE` (default beside this one)")
}

// check rejects flags that need --in.
func (c *container) check() error {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--image", c.image != ""}, {"--in-arg", len(c.more) > 0}, {"--snug-linux", c.snug != ""}} {
		if f.given {
			return message.Usage(f.name+": no container", "name the engine: --in docker or --in podman")
		}
	}
	return nil
}

// run runs this command line in a container. args is the command line of this process.
func (c *container) run(ctx context.Context, u *ui.UI, l *lab.Lab, args []string) error {
	if l.Beside() {
		return message.Usage("--load-cmd or --prepare with --in: a command beside the program, in a container",
			"run snug in a container of yours that has the command's tools")
	}
	s := &engine.Spec{
		Engine: c.engine, Image: c.image, Snug: c.snug, More: c.more, RealTime: l.RealTime,
		Out: u.Out, Err: u.Err, Note: u.Note,
	}
	for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if u.Getenv(name) != "" {
			s.Env = append(s.Env, name)
		}
	}
	for _, f := range []string{l.HTML, l.Benchfmt, l.RecordFile} {
		if f != "" {
			s.Files = append(s.Files, f)
		}
	}
	s.Args = withoutFlags(args, containerFlags)
	switch {
	case len(l.Cmd) > 0 && gotest.KindOf(l.Cmd) == gotest.GoTest:
		scratch, err := os.MkdirTemp("", "snug-go-test-")
		if err != nil {
			return message.Failed("cannot build: "+message.Reason(err),
				"TMPDIR names a directory with room for the test program")
		}
		defer os.RemoveAll(scratch)
		if err := c.build(u, s, l.Cmd, scratch); err != nil {
			return err
		}
	case len(l.Cmd) > 0:
		file, err := exec.LookPath(l.Cmd[0])
		if err == nil {
			file, err = filepath.Abs(file)
		}
		if err != nil {
			return message.Failed(message.Quote(l.Cmd[0])+": no such program",
				"check the name and PATH; everything after -- is the command")
		}
		s.Program = file
		s.Args[len(s.Args)-len(l.Cmd)] = file
	}
	code, err := engine.Run(ctx, s)
	if err != nil || code == 0 {
		return err
	}
	return &message.Failure{Code: code} // snug inside has said why
}

// build builds the program of go test for the container, where there is no go command. It
// runs in the directory of the package.
func (c *container) build(u *ui.UI, s *engine.Spec, cmd []string, scratch string) error {
	ctx, stop := ui.UntilInterrupted()
	defer stop()
	arch, err := engine.Arch(ctx, c.engine)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return message.Failed("cannot find snug's own program: "+message.Reason(err), "run it by its full path")
	}
	u.Status("go test builds")
	b, err := gotest.Build(ctx, self, cmd, scratch, u.Err, "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	u.Status("")
	if e, ok := errors.AsType[*gotest.BuildError](err); ok {
		return message.Failed(e.What, e.Cure)
	} else if ctx.Err() != nil {
		return &message.Failure{Code: message.ExitInterrupted, What: "interrupted"}
	} else if err != nil {
		return err
	}
	u.Note("note: go test built %s for linux/%s, and every run starts that in %s", filepath.Base(b.Args[0]), arch, b.Dir)
	flags := s.Args[:len(s.Args)-len(cmd)]
	s.Args = append(absolute(flags, "html", "benchfmt", "record"), b.Args...)
	s.Program, s.Dir = b.Args[0], b.Dir
	return nil
}

// absolute makes the values of flags that name files absolute, for another current directory.
func absolute(args []string, names ...string) []string {
	out := slices.Clone(args)
	for i, a := range args {
		name, value, valued := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !strings.HasPrefix(a, "--") || !slices.Contains(names, name) {
			continue
		}
		at, prefix := i, "--"+name+"="
		if !valued && i+1 < len(args) {
			at, prefix, value = i+1, "", args[i+1]
		}
		if file, err := filepath.Abs(value); err == nil && value != "" {
			out[at] = prefix + file
		}
	}
	return out
}

// withoutFlags removes flags that take a value, up to --.
func withoutFlags(args, names []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		name, _, valued := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		switch {
		case !strings.HasPrefix(args[i], "--") || !slices.Contains(names, name):
			out = append(out, args[i])
		case !valued:
			i++ // its value
		}
	}
	return out
}

// commandLine returns the arguments of this process.
func commandLine() []string { return os.Args[1:] }
