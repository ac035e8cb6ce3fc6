// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package goprogram runs Go programs for tests that read them.
package goprogram

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Busy is the source of a program that works a little, forever, and prints when it has started.
const Busy = `package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

var keep [][]byte

func main() {
	runtime.GC()
	fmt.Println("ready")
	go func() {
		for {
			keep = append(keep[:0:0], make([]byte, 1<<20))
			for t := time.Now(); time.Since(t) < time.Millisecond; {
			}
			time.Sleep(time.Millisecond)
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
`

// Started runs Busy and returns its process number and its file.
func Started(t *testing.T, env ...string) (pid string, path string) {
	t.Helper()
	return Launched(t, "busy", Busy, env...)
}

// Dir holds the programs that Launched has built, in a directory for each name.
var Dir string

// Main is the TestMain for packages whose tests start programs.
func Main(m *testing.M) {
	// Tests give snug an empty cache, but keep the build cache of the go command.
	if dir, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		os.Setenv("GOCACHE", strings.TrimSpace(string(dir)))
	}
	var err error
	if Dir, err = os.MkdirTemp("", "snug-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(Dir)
	os.Exit(code)
}

// Launched builds a stripped program and runs it at a path of its own until the test ends. Its
// environment has GOMAXPROCS=3, GOGC=77, GOMEMLIMIT=123MiB and env.
func Launched(t *testing.T, name, source string, env ...string) (pid string, path string) {
	t.Helper()
	if Dir == "" {
		t.Fatal("TestMain has to call goprogram.Main")
	}
	dir := filepath.Join(Dir, name)
	built := filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o755); err == nil { // the first time
		for name, text := range map[string]string{"main.go": source, "go.mod": "module " + name + "\n\ngo 1.26\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", built, ".")
		build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.Link(built, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(append(os.Environ(), "GOMAXPROCS=3", "GOGC=77", "GOMEMLIMIT=123MiB"), env...)
	_, says := begun(t, cmd)
	says("ready")
	return strconv.Itoa(cmd.Process.Pid), path
}

// begun starts a program that ends with its input, which the test closes. says waits for a line of it.
func begun(t *testing.T, cmd *exec.Cmd) (in io.Writer, says func(want string)) {
	t.Helper()
	closer, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close(); cmd.Wait() })
	lines := bufio.NewReader(out)
	return closer, func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); line != want+"\n" {
			t.Fatal(line, err)
		}
	}
}

// Ended waits until a process has ended, even if its parent does not wait for it.
func Ended(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("pid %d lives on", pid)
		}
	}
}
