// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// many boots the virtual machine with many CPUs and runs a server there in a cgroup of one CPU,
// with the Ps of the machine, of Go's own rule and of one, and lets snug look. See run.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/fit/vm"
)

// settings are the environments of the server. Before is every Go before 1.25, and a module whose go
// line is older.
var settings = []struct{ name, env string }{
	{"before", "GODEBUG=containermaxprocs=0,updatemaxprocs=0"},
	{"go", "NONE=1"},
	{"one", "GOMAXPROCS=1"},
}

const (
	url    = "http://127.0.0.1:7181/v1/data/app/allow"
	users  = 16
	window = 40 * time.Second // by the guest's clock
)

func main() {
	log.SetFlags(0)
	if os.Args[1] == "inside" {
		inside(os.Args[2], os.Args[3])
		return
	}
	// many BIN STATE CPUS ROUNDS: BIN has snug, opa and many; STATE has opa's data.
	bin, state := os.Args[1], os.Args[2]
	cpus, _ := strconv.Atoi(os.Args[3])
	rounds, _ := strconv.Atoi(os.Args[4])
	spec := vm.Spec{Kind: vm.Kind{CPUs: cpus}, Timeout: 3 * time.Hour, Files: map[string]string{
		"/bin/snug": bin + "/snug", "/bin/opa": bin + "/opa", "/bin/many": bin + "/many",
		"/policy.rego": state + "/policy.rego", "/data.json": state + "/data.json", "/bodies": state + "/bodies",
	}}
	for r := range rounds {
		for i := range settings {
			s := settings[(i+r)%len(settings)]
			spec.Steps = append(spec.Steps, vm.Step{
				Name: fmt.Sprintf("%d %d %s", cpus, r, s.name), Seconds: 1800,
				Cgroup: map[string]map[string]string{"/app": {"cpu.max": "100000 100000"}},
				Args:   []string{"/bin/many", "inside", s.name, s.env},
			})
		}
	}
	dir, err := os.MkdirTemp("", "many-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	results, console, err := vm.Boot(context.Background(), dir, spec)
	for _, r := range results {
		if r.Err != "" || r.Exit != 0 {
			log.Printf("%s: %s, exit code %d, %s", r.Name, r.Err, r.Exit, r.Stderr)
			continue
		}
		fmt.Printf("{\"round\":%q,\"took\":%.0f,%s\n", r.Name, r.Seconds, strings.TrimPrefix(strings.TrimSpace(r.Stdout), "{"))
	}
	if err != nil {
		log.Fatalf("%v\n%s", err, console)
	}
}

// inside runs one setting in the guest.
func inside(name, env string) {
	group, err := os.Open("/sys/fs/cgroup/app")
	if err != nil {
		log.Fatal(err)
	}
	server := exec.Command("/bin/opa", "run", "--server", "--disable-telemetry", "--log-level", "error", "--addr", "127.0.0.1:7181", "/policy.rego", "/data.json")
	server.Env = []string{env, "HOME=/"}
	server.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	text, err := os.ReadFile("/bodies")
	if err != nil {
		log.Fatal(err)
	}
	bodies := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: users}, Timeout: 5 * time.Minute}
	ask := func(i int) error {
		r, err := client.Post(url, "application/json", bytes.NewReader(bodies[i%len(bodies)]))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != 200 {
			return fmt.Errorf("status %d, %v", r.StatusCode, err)
		}
		return nil
	}
	for start := time.Now(); ask(0) != nil; time.Sleep(time.Second) {
		if time.Since(start) > 10*time.Minute {
			log.Fatalf("the server does not answer: %s", said.String())
		}
	}
	var done, failed atomic.Int64
	for u := range users {
		go func() {
			for i := u; ; i += users {
				if ask(i) != nil {
					failed.Add(1)
					time.Sleep(100 * time.Millisecond)
				} else {
					done.Add(1)
				}
			}
		}()
	}
	time.Sleep(10 * time.Second)
	pid := strconv.Itoa(server.Process.Pid)
	look := func(args ...string) json.RawMessage {
		out, err := exec.Command("/bin/snug", append(args, "--json")...).Output()
		if len(out) == 0 {
			log.Fatalf("snug %v: %v", args, err)
		}
		return json.RawMessage(out)
	}
	before, n, start := stat(), done.Load(), time.Now()
	doctor := look("doctor", pid, "--duration", window.String())
	after, seconds, ops := stat(), time.Since(start).Seconds(), done.Load()-n
	used := map[string]int64{}
	for k, v := range after {
		used[k] = v - before[k]
	}
	out, _ := json.Marshal(map[string]any{
		"setting": name, "seconds": seconds, "ops": ops, "failed": failed.Load(), "cgroup": used, "doctor": doctor,
		"ps": look("ps", pid), "profile": look("profile", pid, "--duration", window.String()),
	})
	os.Stdout.Write(out)
}

// stat returns the figures of the group's cpu.stat.
func stat() map[string]int64 {
	f, err := os.Open("/sys/fs/cgroup/app/cpu.stat")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	figures := map[string]int64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		figures[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return figures
}
