// SPDX-License-Identifier: Apache-2.0

package gotest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	ChildMain()
	os.Exit(m.Run())
}

func TestKindOf(t *testing.T) {
	for command, want := range map[string]Kind{
		"go test -bench . ./x":                          GoTest,
		"go test --bench=. ./x":                         GoTest,
		"go test -test.bench . ./x":                     GoTest,
		"/usr/local/go/bin/go test -count 2 -bench . x": GoTest,
		"go1.24.3 test -bench . x":                      GoTest,
		"go test ./x":                                   None,
		"go test -benchmem -benchtime 1s ./x":           None,
		"go test ./x -args -bench .":                    None,
		"go build -bench":                               None,
		"gofmt test -bench .":                           None,
		"go":                                            None,
		"./x.test -test.bench .":                        Program,
		"./x.test -test.v --test.bench=.":               Program,
		"./x.test -test.benchtime 1s":                   None,
		"./x.test -bench .":                             None,
		"./x.test -- -test.bench .":                     None,
	} {
		if got := KindOf(strings.Fields(command)); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}

func TestWithoutTests(t *testing.T) {
	for command, want := range map[string]string{
		"./x.test -test.bench . more":               "./x.test -test.run=^$ -test.bench . more",
		"./x.test -test.bench . -test.run TestFast": "./x.test -test.bench . -test.run TestFast",
	} {
		got, _ := WithoutTests(strings.Fields(command))
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", command, got)
		}
	}
}

// write makes a module and returns its directory, which has a space in its name.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a module")
	files["go.mod"] = "module example.com/m\n\ngo 1.23\n"
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	return dir
}

const source = `package sub

import (
	"os"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	if _, err := os.ReadFile("testdata/input"); err != nil {
		b.Fatal(err)
	}
}
`

func TestBuild(t *testing.T) {
	dir := write(t, map[string]string{
		"sub/sub_test.go": source, "sub/testdata/input": "x",
		"other/other_test.go": strings.Replace(source, "package sub", "package other", 1),
		"broken/a_test.go":    "package broken\n\nfunc broken( {\n",
		"empty/a.go":          "package empty\n",
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build := func(t *testing.T, command string) (*Built, string, error) {
		var log bytes.Buffer
		b, err := Build(t.Context(), self, strings.Fields(command), t.TempDir(), &log)
		return b, log.String(), err
	}
	for _, command := range []string{"go test -bench Read -benchtime=2x -count 1 ./sub", "go test -C sub -bench Read -benchtime=2x", "go test -C=sub -json -bench Read -benchtime=2x -cover"} {
		t.Run(command, func(t *testing.T) {
			b, log, err := build(t, command)
			if err != nil {
				t.Fatal(err, log)
			}
			if real, _ := filepath.EvalSymlinks(filepath.Join(dir, "sub")); b.Dir != real && b.Dir != filepath.Join(dir, "sub") {
				t.Errorf("in %s", b.Dir)
			}
			if !slices.Contains(b.Args, "-test.bench=Read") || !slices.Contains(b.Args, "-test.benchtime=2x") {
				t.Errorf("%q", b.Args)
			}
			cmd := exec.Command(b.Args[0], b.Args[1:]...)
			cmd.Dir, cmd.Env = b.Dir, b.Env
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("ns/op")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for command, want := range map[string]string{
		"go test -bench . ./broken":              "go test could not build the benchmarks",
		"go test -bench . ./nowhere":             "go test could not build the benchmarks",
		"go test -bench . ./sub ./other":         "go test started 2 test programs, and a run is one",
		"go test -bench . ./empty":               "go test started no test program: ?   \texample.com/m/empty\t[no test files]",
		"go test -c -o /dev/null -bench . ./sub": "go test started no test program: it printed nothing",
		"/nowhere/go test -bench . ./sub":        "cannot run /nowhere/go",
	} {
		t.Run(command, func(t *testing.T) {
			b, log, err := build(t, command)
			if e, ok := err.(*BuildError); !ok || !strings.HasPrefix(e.What, want) || e.Cure == "" {
				t.Errorf("%v, %v\n%s", b, err, log)
			}
			if strings.HasPrefix(want, "go test could not") && !strings.Contains(log, strings.TrimPrefix(command[len("go test -bench . "):], "./")) {
				t.Errorf("the messages of the go command are lost: %q", log)
			}
		})
	}
}
