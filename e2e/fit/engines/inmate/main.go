// SPDX-License-Identifier: Apache-2.0

// Inmate is the program in the containers of this folder's tests. Its other parts are
// processes that it starts: each reads the container afresh, as a program does that starts.
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

// alone is how long it waits for a request: its test is then gone.
const alone = 10 * time.Minute

func main() {
	part := "serve"
	if len(os.Args) > 1 {
		part = os.Args[1]
	}
	switch part {
	case "serve": // and a word that tells which one it is
		serve()
	case "burn": // and how many seconds
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
	case "apart", "conduct": // and an order
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

// serve answers each line of its standard input by one of its output, until there is no more.
func serve() {
	lost := time.AfterFunc(alone, func() { os.Exit(99) })
	out := json.NewEncoder(os.Stdout)
	out.Encode(wire.Answer{})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lost.Reset(alone)
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

// beside is the path of a program in the directory of this one.
func beside(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

func answer(q wire.Request) (a wire.Answer) {
	switch q.Do {
	case "run":
		a.Run = map[string]wire.Run{}
		for name, args := range q.Run {
			if !strings.Contains(args[0], "/") {
				args[0] = beside(args[0])
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
		// Each byte is a MiB. What the kernel kills has written all that it had.
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

// part is a process of this program that is another part of it.
func part(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stdin = nothing()
	return cmd
}

// nothing is what a process of its may read. There need be no /dev/null.
func nothing() io.Reader { return new(bytes.Reader) }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func run(args []string) (r wire.Run) {
	ctx, cancel := context.WithTimeout(context.Background(), alone/2)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/"}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nothing(), &stdout, &stderr
	err := cmd.Run()
	r.Stdout, r.Stderr, r.Error = stdout.String(), stderr.String(), text(err)
	return r
}

// threads are more than the quotas of the tests and most machines' CPUs.
const threads = 6

// burn keeps six threads busy for a while and says how much CPU time they got.
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

// eat takes memory MiB by MiB and writes a byte after each, until it is killed or has
// twice what any test gives.
func eat() {
	// This process before others. Where that cannot be said it is the largest one.
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

// fromRuntime tells what this program's own runtime uses and has read. Since Go 1.25 the
// runtime keeps the files of its quota open (internal/runtime/cgroup, OpenCPU), so they are
// among this process's descriptors, and their text is what it goes by.
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
			continue // without /proc it cannot have found its group
		}
		if strings.Contains(filepath.Base(name), "cpu.") {
			r.Files = append(r.Files, wire.File{Name: name, Text: strings.TrimSpace(string(buf[:n]))})
		}
	}
	json.NewEncoder(os.Stdout).Encode(r)
}
