// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/snug-go/snug/e2e/fit/engines/wire"
)

// apart starts this program again as "conduct" in a new mount namespace and returns its exit.
func apart(order string) error {
	cmd := exec.Command("/proc/self/exe", "conduct", order)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

// conduct does in a virtual machine what the test does on this machine: it starts a container,
// sends it requests, and reads it from outside.
func conduct(order string) error {
	var o wire.Order
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return err
	}
	// Engines make another mount the root, but the initial file system cannot be unmounted (man 2
	// pivot_root).
	const root = "/conduct"
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("/", root, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind /: %w", err)
	}
	if err := errors.Join(syscall.Chroot(root), os.Chdir("/")); err != nil {
		return err
	}
	for _, d := range o.Directories {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for name, text := range o.Files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if o.Group != "" {
		if err := os.WriteFile(filepath.Join(o.Group, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	cmd := exec.Command(o.Line[0], o.Line[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done, err := converse(o, json.NewEncoder(in), bufio.NewScanner(out))
	if err != nil {
		cmd.Process.Kill()
		return errors.Join(err, cmd.Wait())
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

// converse sends all requests of an order.
func converse(o wire.Order, in *json.Encoder, out *bufio.Scanner) (done wire.Done, err error) {
	out.Buffer(nil, 1<<20)
	receive := func() (a wire.Answer, err error) {
		if !out.Scan() {
			return a, errors.Join(errors.New("the container has ended"), out.Err())
		}
		if err := json.Unmarshal(out.Bytes(), &a); err != nil {
			return a, err
		}
		if a.Error != "" {
			return a, errors.New(a.Error)
		}
		return a, nil
	}
	ask := func(q wire.Request) (a wire.Answer, err error) {
		if err := in.Encode(q); err != nil {
			return a, err
		}
		return receive()
	}
	if _, err = receive(); err != nil {
		return done, err
	}
	if done.Inside, err = ask(wire.Request{Do: "run", Run: o.Questions}); err != nil {
		return done, err
	}
	pid, err := wire.Pid(o.Token)
	if err != nil {
		return done, err
	}
	done.Outside = run([]string{sibling("snug"), "plan", "--json", "--pid", strconv.Itoa(pid)})
	// A busy machine gives less CPU time than the quota. The test checks whether it was enough.
	for range 20 {
		a, err := ask(wire.Request{Do: "burn", Seconds: o.Seconds})
		if err != nil {
			return done, err
		}
		done.Cores = max(done.Cores, a.Burn.CPU/a.Burn.Wall)
		if done.Cores > o.Cores {
			break
		}
	}
	a, err := ask(wire.Request{Do: "eat"})
	done.Eat = a.Eat
	return done, err
}
