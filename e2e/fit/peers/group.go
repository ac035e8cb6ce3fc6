// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// enterGroup moves this process into cgroup v1 groups of its own, a number of levels below its
// current ones, each with a quota of 1.5 cores and a limit of 512 MiB. leave moves it back and
// removes them.
func enterGroup(levels int) (leave func(), err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var undo []func() error
	leave = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			if err := undo[i](); err != nil {
				fmt.Fprintln(os.Stderr, "peers: error:", err)
			}
		}
	}
	pid := strconv.Itoa(os.Getpid())
	for controller, limits := range map[string]map[string]string{
		"cpu":    {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"},
		"memory": {"memory.limit_in_bytes": "536870912"},
	} {
		own, err := ownGroup(string(text), controller)
		dir := own
		for level := 0; level < levels && err == nil; level++ {
			made := filepath.Join(dir, "snug-peers-"+pid)
			if err = os.Mkdir(made, 0o755); err != nil {
				break
			}
			undo = append(undo, func() error { return os.Remove(made) })
			for name, value := range limits {
				err = errors.Join(err, os.WriteFile(filepath.Join(made, name), []byte(value), 0))
			}
			dir = made
		}
		if err == nil {
			undo = append(undo, func() error { return os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(pid), 0) })
			err = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pid), 0)
		}
		if err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// ownGroup returns the directory of this process's group in a v1 hierarchy mounted at the usual
// place.
func ownGroup(cgroups, controller string) (string, error) {
	for line := range strings.Lines(cgroups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && strings.Contains(","+f[1]+",", ","+controller+",") {
			for _, mount := range []string{f[1], controller} {
				dir := filepath.Join("/sys/fs/cgroup", mount, f[2])
				if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
					return dir, nil
				}
			}
		}
	}
	return "", fmt.Errorf("no cgroup v1 group, %s", controller)
}
