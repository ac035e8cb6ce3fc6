// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// podmanGlobals are podman's options in this environment, see podmanRun.
const podmanGlobals = "--root %[1]s/storage --runroot %[1]s/run --tmpdir %[1]s/tmp --storage-driver vfs --cgroup-manager cgroupfs --events-backend none --runtime runc"

// TestBenchIn: snug bench --in measures in a container under a real quota, passes files, exit
// codes and an interrupt through, and leaves no container.
func TestBenchIn(t *testing.T) {
	l := newLab(t)
	l.startDocker(t)
	store := filepath.Join(l.dir, "podman")
	clients := filepath.Join(l.dir, "clients")
	for _, dir := range []string{store, clients} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, line := range map[string]string{
		"docker": l.docker.client + " --host unix://" + l.docker.socket,
		"podman": "env HOME=" + store + " /usr/bin/podman " + fmt.Sprintf(podmanGlobals, store),
	} {
		if err := os.WriteFile(filepath.Join(clients, name), []byte("#!/bin/sh\nexec "+line+" \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// podman raises both ulimits by default, for which root needs CAP_SYS_RESOURCE.
	more := map[string][]string{"podman": {"--in-arg=--ulimit=nofile=1024:1024", "--in-arg=--ulimit=nproc=1024:1024"}}
	for _, engine := range []string{"docker", "podman"} {
		t.Run(engine, func(t *testing.T) {
			dir := filepath.Join(l.dir, engine+"-here")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			snug := func(out *bytes.Buffer, args ...string) *exec.Cmd {
				all := append([]string{"bench", "--in", engine, "--in-arg=--network=none", "--in-arg=--cgroup-parent=/" + l.name}, more[engine]...)
				cmd := exec.Command(filepath.Join(l.bin, "snug"), append(all, args...)...)
				cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
				cmd.Env = append(os.Environ(), "PATH="+clients+":"+os.Getenv("PATH"), "GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG=")
				return cmd
			}
			left := func() {
				t.Helper()
				out, err := exec.Command(filepath.Join(clients, engine), "ps", "-a", "--filter", "name=snug-", "--format", "{{.Names}}").Output()
				for name := range strings.FieldsSeq(string(out)) {
					if !strings.HasPrefix(name, prefix) {
						t.Errorf("%s is left", name)
					}
				}
				if err != nil {
					t.Error(err)
				}
			}

			var out, talk bytes.Buffer
			cmd := snug(&out, "--cpus", "0.5", "--gomaxprocs", "1", "--rounds", "2", "--objective", "none", "--json", "--html", "page.html", "--", l.bin+"/snug", "version")
			cmd.Stderr = &talk
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, talk.String())
			}
			var d struct {
				Complete bool
				Machine  struct {
					Way string `json:"cgroup_way"`
				}
				Cells []struct {
					Rounds []struct {
						Confinement struct {
							Quota  int64 `json:"quota_micros"`
							Period int64 `json:"period_micros"`
						}
					}
				}
			}
			if err := json.Unmarshal(out.Bytes(), &d); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if !d.Complete || d.Machine.Way != "cgroup-v1" || len(d.Cells) != 2 {
				t.Errorf("%+v", d)
			}
			for _, c := range d.Cells {
				for _, r := range c.Rounds {
					if r.Confinement.Quota*2 != r.Confinement.Period || r.Confinement.Period == 0 {
						t.Errorf("%+v", r)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "page.html")); err != nil {
				t.Error(err)
			}
			left()

			// The go command is here, and what it builds runs there.
			out.Reset()
			talk.Reset()
			cmd = snug(&out, "--cpus", "0.5", "--gomaxprocs", "1", "--rounds", "1", "--objective", "none", "--json", "--benchfmt", "lines", "--", "go", "test", "-bench", "SortInts$", "-benchtime", "5x", "sort")
			cmd.Stderr = &talk
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, talk.String())
			}
			if lines, err := os.ReadFile(filepath.Join(dir, "lines")); err != nil || !strings.Contains(string(lines), "BenchmarkSortInts/quota=0.5/procs=1/load=benchmark 1 ") {
				t.Errorf("%v\n%s", err, lines)
			}
			left()

			out.Reset()
			cmd = snug(&out, "--load", "50%", "--", l.bin+"/snug", "version")
			if cmd.Run(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), ": a load for a program that is not a service") {
				t.Errorf("%s\n%s", cmd.ProcessState, out.String())
			}
			left()

			// The record has a run; then Ctrl-C, to snug alone.
			out.Reset()
			record := filepath.Join(dir, "record")
			cmd = snug(&out, "--cpus", "0.5", "--workload", "fib", "--window", "300ms", "--warmup", "100ms", "--rounds", "900", "--record", "record")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for late := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
				if data, err := os.ReadFile(record); err == nil && bytes.Count(data, []byte("\n")) > 1 {
					break
				}
				if time.Now().After(late) {
					cmd.Process.Kill()
					cmd.Wait()
					t.Fatalf("no run was recorded\n%s", out.String())
				}
			}
			cmd.Process.Signal(syscall.SIGINT)
			if cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(out.String(), "the same command resumes from record") {
				t.Errorf("%s\n%s", cmd.ProcessState, out.String())
			}
			left()
		})
	}
}
