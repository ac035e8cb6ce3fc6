// SPDX-License-Identifier: Apache-2.0

// Fuzz gives every fuzz target of the repository a few seconds, two packages side by side.
//
//	go run ./e2e/ci/fuzz [-each 2s] [DIR...]
//
// It builds each package once; `go test -fuzz` would link it for each target.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	each := flag.Duration("each", 2*time.Second, "how long each target is fuzzed")
	flag.Parse()
	if err := run(*each, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz: error:", err)
		os.Exit(1)
	}
}

// run fuzzes the targets below dirs, or all targets.
func run(each time.Duration, dirs []string) error {
	found, err := targets(dirs)
	if err != nil {
		return err
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	work, err := os.MkdirTemp("", "snug-fuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed []string
		queue  = make(chan string)
	)
	for range 2 {
		wait.Go(func() {
			for dir := range queue {
				p := fuzzed{dir: dir, binary: filepath.Join(work, strings.ReplaceAll(dir, "/", "-")+".test"),
					corpus: filepath.Join(strings.TrimSpace(string(cache)), "fuzz", "snug", dir)}
				said, err := p.all(found[dir], each)
				mu.Lock()
				fmt.Print(said)
				if err != nil {
					failed = append(failed, err.Error())
				}
				mu.Unlock()
			}
		})
	}
	n := 0
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		n += len(found[dir])
		queue <- dir
	}
	close(queue)
	wait.Wait()
	if n == 0 {
		return fmt.Errorf("no fuzz target in %q", dirs)
	}
	fmt.Printf("%d targets in %d packages\n", n, len(found))
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

var target = regexp.MustCompile(`^(.+_test\.go):func (Fuzz\w+)\(`)

// targets returns the names of fuzz targets by package directory.
func targets(dirs []string) (map[string][]string, error) {
	cmd := exec.Command("git", slices.Concat([]string{"grep", "--untracked", "^func Fuzz", "--"}, dirs)...)
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git grep: %w", err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if m := target.FindStringSubmatch(line); m != nil {
			dir := filepath.ToSlash(filepath.Dir(m[1]))
			found[dir] = append(found[dir], m[2])
		}
	}
	return found, nil
}

// fuzzed is one package.
type fuzzed struct{ dir, binary, corpus string }

// all builds the package and fuzzes its targets one after the other.
func (p fuzzed) all(names []string, each time.Duration) (said string, err error) {
	var b strings.Builder
	build := exec.Command("go", "test", "-c", "-fuzz=.", "-o", p.binary, ".")
	build.Dir = p.dir
	if text, err := build.CombinedOutput(); err != nil {
		return string(text), fmt.Errorf("build of %s: %w", p.dir, err)
	}
	defer os.Remove(p.binary)
	for _, name := range names {
		text, err := p.one(name, each)
		// If the time ends during a slow input, the fuzzer fails with "deadline exceeded" and
		// without a failing input. Retry once.
		if err != nil && !bytes.Contains(text, []byte("Failing input")) && bytes.Contains(text, []byte("deadline exceeded")) {
			text, err = p.one(name, each)
		}
		if err != nil {
			fmt.Fprintf(&b, "%s", text)
			return b.String(), fmt.Errorf("%s of %s: %w", name, p.dir, err)
		}
		fmt.Fprintf(&b, "ok  %s of %s: %s\n", name, p.dir, figures(string(text)))
	}
	return b.String(), nil
}

func (p fuzzed) one(name string, each time.Duration) ([]byte, error) {
	// By default the fuzzer takes up to a minute to minimize an input of interest.
	cmd := exec.Command(p.binary, "-test.run=^$", "-test.fuzz=^"+name+"$", "-test.fuzztime="+each.String(), "-test.fuzzminimizetime=10x",
		"-test.fuzzcachedir="+p.corpus, "-test.parallel=1")
	cmd.Dir = p.dir
	return cmd.CombinedOutput()
}

// figures returns the last progress line of the fuzzer.
func figures(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if strings.Contains(line, "execs:") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}
