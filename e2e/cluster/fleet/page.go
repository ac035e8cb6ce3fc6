// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a console block of a page.
type block struct {
	section string // the heading above it
	steps   []step
}

// step is a command and its output according to the page; "" = not shown.
type step struct{ command, prints string }

// page reads the console blocks of a page of docs, in order. A command starts with "$ "; its output
// follows.
func page(t testing.TB, name string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	section, in := "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch last := len(all) - 1; {
		case line == "```console":
			in = true
			all = append(all, block{section: section})
		case line == "```":
			in = false
		case !in:
			if title, ok := strings.CutPrefix(line, "## "); ok {
				section = title
			}
		case strings.HasPrefix(line, "$ "):
			all[last].steps = append(all[last].steps, step{command: line[2:]})
		case len(all[last].steps) == 0:
			t.Fatalf("%s: a block under %q does not start with a command", name, section)
		default:
			s := &all[last].steps[len(all[last].steps)-1]
			s.prints += line + "\n"
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no console block", name)
	}
	return all
}

var (
	number = regexp.MustCompile(`[0-9]+`)
	spaces = regexp.MustCompile(`(\n?) +`)
)

// matches reports whether an output agrees with the page. A line "..." on the page stands for any
// lines, and a number for any number of any width.
func matches(printed, want string) bool {
	same := func(text string) string {
		return number.ReplaceAllString(spaces.ReplaceAllString("\n"+strings.TrimSpace(text), "$1 ")+"\n", "0")
	}
	pattern := "^" + regexp.QuoteMeta(same(want)) + "$"
	pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta("...")+"\n", "(.*\n)*")
	ok, err := regexp.MatchString(pattern, same(printed))
	return ok && err == nil
}

// console runs the commands of a page like its reader: with the tools that it names, as the
// cluster's administrator, in the root of the repository.
type console struct {
	dir string
	env []string
}

// console returns a console with these commands in its PATH, by name.
func (f *fleet) console(t testing.TB, commands map[string]string) *console {
	t.Helper()
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range commands {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The commands write to this directory. The chart has the path that the page uses.
	dir := filepath.Join(home, "repository")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "deploy"), filepath.Join(dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	return &console{dir, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "KUBECONFIG=" + f.Kubeconfig(t)}}
}

// run runs a command and returns its output, including standard error.
func (c *console) run(t testing.TB, command string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("$ %s\n%w\n%s", command, err, out)
	}
	return string(out), err
}
