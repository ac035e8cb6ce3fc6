// SPDX-License-Identifier: Apache-2.0

// Inmate is the program in the containers of package engines. Its subcommands are processes that it
// starts: each reads the container afresh, like a program at start.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/fit/engines/wire"
)

// maxIdle is how long it waits for a request. After that, the test is gone.
const maxIdle = 10 * time.Minute

func main() {
	part := "serve"
	if len(os.Args) > 1 {
		part = os.Args[1]
	}
	switch part {
	case "serve": // followed by a token that identifies the container
		serve()
	case "burn": // followed by seconds
		n, err := strconv.Atoi(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, "inmate:", err)
			os.Exit(2)
		}
		burn(time.Duration(n) * time.Second)
	case "eat":
		eat()
	case "runtime":
		fromRuntime()
	case "apart", "conduct": // followed by an order
		do := apart
		if part == "conduct" {
			do = conduct
		}
		if err := do(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "inmate:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "inmate: no part", part)
		os.Exit(2)
	}
}

// serve answers each line of its standard input with a line of output, until the input ends.
func serve() {
	lost := time.AfterFunc(maxIdle, func() { os.Exit(99) })
	out := json.NewEncoder(os.Stdout)
	out.Encode(wire.Answer{})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lost.Reset(maxIdle)
		var q wire.Request
		var a wire.Answer
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			a.Error = err.Error()
		} else {
			a = answer(q)
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

// sibling returns the path of a program in the directory of this one.
func sibling(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

func answer(q wire.Request) (a wire.Answer) {
	switch q.Do {
	case "run":
		a.Run = map[string]wire.Run{}
		for name, args := range q.Run {
			if !strings.Contains(args[0], "/") {
				args[0] = sibling(args[0])
			}
			a.Run[name] = run(args)
		}
	case "burn":
		out, err := part("burn", strconv.Itoa(q.Seconds)).Output()
		if err == nil {
			err = json.Unmarshal(out, &a.Burn)
		}
		a.Error = text(err)
	case "eat":
		// Each byte stands for a MiB. A killed process has written all of its bytes.
		out, err := part("eat").Output()
		a.Eat.MiB = len(out)
		if status, ok := err.(*exec.ExitError); ok {
			a.Eat.Killed = status.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		}
		if err != nil && !a.Eat.Killed {
			a.Error = err.Error()
		}
	case "look":
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		groups, err2 := os.ReadFile("/proc/self/cgroup")
		a.Mounts, a.Groups = string(mounts)+text(err), string(groups)+text(err2)
	default:
		a.Error = "no request " + q.Do
	}
	return a
}

// part returns a command that runs a subcommand of this program.
func part(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stdin = emptyInput()
	return cmd
}

// emptyInput is the standard input of child processes, because /dev/null may be missing.
func emptyInput() io.Reader { return new(bytes.Reader) }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func run(args []string) (r wire.Run) {
	ctx, cancel := context.WithTimeout(context.Background(), maxIdle/2)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/"}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = emptyInput(), &stdout, &stderr
	err := cmd.Run()
	r.Stdout, r.Stderr, r.Error = stdout.String(), stderr.String(), text(err)
	return r
}

// threads exceeds the quotas of the tests and most machines' CPUs.
const threads = 6

// burn keeps six threads busy for a time and prints their CPU time.
func burn(span time.Duration) {
	runtime.GOMAXPROCS(threads)
	begin := time.Now()
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			for time.Since(begin) < span {
			}
		})
	}
	wg.Wait()
	wall := time.Since(begin)
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fmt.Fprintln(os.Stderr, "inmate:", err)
		os.Exit(1)
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	json.NewEncoder(os.Stdout).Encode(wire.Burn{CPU: cpu.Seconds(), Wall: wall.Seconds()})
}

// eat takes memory MiB by MiB and writes a byte after each, until it is killed or has twice the
// limit of any test.
func eat() {
	// Kill this process first. If the score cannot be written, it is the largest process anyway.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	for range wire.Enough {
		b, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			fmt.Fprintln(os.Stderr, "inmate:", err)
			os.Exit(1)
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		syscall.Write(1, []byte{1})
	}
}

// fromRuntime prints what this program's runtime uses and has read. Since Go 1.25 the runtime keeps
// the files of its quota open (internal/runtime/cgroup, OpenCPU), so this process can read them
// through its own descriptors.
func fromRuntime() {
	r := wire.Runtime{Go: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0), NumCPU: runtime.NumCPU()}
	for fd := 3; fd < 20; fd++ {
		var buf [64]byte
		n, err := syscall.Pread(fd, buf[:], 0)
		if err != nil {
			continue
		}
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			continue // without /proc the runtime cannot have found its group
		}
		if strings.Contains(filepath.Base(name), "cpu.") {
			r.Files = append(r.Files, wire.File{Name: name, Text: strings.TrimSpace(string(buf[:n]))})
		}
	}
	json.NewEncoder(os.Stdout).Encode(r)
}
