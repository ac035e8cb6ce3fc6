// SPDX-License-Identifier: Apache-2.0

// Probe prints the knobs of its Go runtime as one JSON object. With build tags it also links
// packages that change them: see the other files. The sources must compile with Go 1.21.
package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type report struct {
	Go         string            `json:"go"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	GOMEMLIMIT int64             `json:"gomemlimit_bytes"` // 1<<63 - 1 = none
	NumCPU     int               `json:"num_cpu"`
	Pid        int               `json:"pid"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`    // the variables that affect the runtime or snug, if set
	Cgroup     string            `json:"cgroup"` // /proc/self/cgroup; "" = unreadable
	Plan       any               `json:"plan"`   // snug's plan; null without snug
}

// plan is replaced by the file that links snug.
var plan = func() any { return nil }

func main() {
	r := report{
		Go:         runtime.Version(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		GOMEMLIMIT: debug.SetMemoryLimit(-1),
		NumCPU:     runtime.NumCPU(),
		Pid:        os.Getpid(),
		Args:       os.Args[1:],
		Env:        map[string]string{},
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "GOMAXPROCS", name == "GOMEMLIMIT", name == "GOGC", name == "GODEBUG", strings.HasPrefix(name, "SNUG"):
			r.Env[name] = value
		}
	}
	text, _ := os.ReadFile("/proc/self/cgroup")
	r.Cgroup = string(text)
	// Last, because this may change the owner of a knob.
	r.Plan = plan()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
	finish(os.Args[1:])
}

// finish ends as the arguments say: "exit N" with that code, "wait" with the number of the first
// signal that arrives (or 99 after a minute, so that no lost probe stays), anything else with 0.
func finish(args []string) {
	switch {
	case len(args) == 2 && args[0] == "exit":
		code, _ := strconv.Atoi(args[1])
		os.Exit(code)
	case len(args) == 1 && args[0] == "wait":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1)
		os.Stdout.WriteString("waiting\n")
		select {
		case s := <-signals:
			os.Exit(int(s.(syscall.Signal)))
		case <-time.After(time.Minute):
			os.Exit(99)
		}
	}
}
