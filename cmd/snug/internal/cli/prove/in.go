// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"context"
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
	flagvalue.Define(fs, "in", "run it in a container of `ENGINE`, docker or podman, on a machine without cgroups", "docker or podman", func(text string) (string, bool) {
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
			return message.Usage("no container, "+f.name, "name the engine: --in docker or --in podman")
		}
	}
	return nil
}

// run runs this command line in a container. args is the command line of this process.
func (c *container) run(ctx context.Context, u *ui.UI, l *lab.Lab, args []string) error {
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
	if l.Stdout != "" {
		s.Files = append(s.Files, filepath.Join(l.Stdout, "run"))
	}
	s.Args = withoutFlags(args, containerFlags)
	if len(l.Cmd) > 0 {
		if gotest.KindOf(l.Cmd) == gotest.GoTest {
			return message.Usage("no go command in the container, --in "+c.engine, "build the program first, and measure it in the package's directory: GOOS=linux CGO_ENABLED=0 go test -c -o bench.test PACKAGE; snug bench --in "+c.engine+" -- ./bench.test -test.bench REGEXP")
		}
		file, err := exec.LookPath(l.Cmd[0])
		if err == nil {
			file, err = filepath.Abs(file)
		}
		if err != nil {
			return message.Failed("no such program, "+message.Quote(l.Cmd[0]), "check the name and PATH; everything after -- is the command")
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
