// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the programs that the tests run, by its first argument:
//
//	as-snug FLAGS -- CMD...   runs CMD with Foreground, like `snug run`
//	as-probe                  prints its limits; shares no code with the package
//	as-eater BYTES            uses memory
//	as-burner                 uses CPU until it is killed
//	as-counter FILE           appends a line for each signal it gets, until SIGTERM
//	as-exit CODE              exits
//	as-suicide SIGNAL         kills itself by a signal
func TestMain(m *testing.M) {
	ChildMain()
	if filepath.Base(os.Args[0]) == "systemd-run" {
		os.Exit(asSystemdRun(os.Args[1:]))
	}
	if len(os.Args) > 1 {
		if role, ok := strings.CutPrefix(os.Args[1], "as-"); ok {
			os.Exit(play(role, os.Args[2:]))
		}
	}
	// Child processes would ignore the signals that are ignored here, for example under
	// nohup or in the background of a script.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	os.Exit(m.Run())
}

func play(role string, args []string) int {
	switch role {
	case "snug":
		return asSnug(args)
	case "probe":
		return asProbe()
	case "eater":
		n, _ := strconv.Atoi(args[0])
		// Outside Go's heap, which the race detector doubles.
		b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		for i := 0; i < n; i += 4096 {
			b[i] = 1
		}
		fmt.Println("ate", len(b))
		return 0
	case "burner":
		for range 4 {
			go func() {
				for n := 0; n >= 0; n++ {
				}
			}()
		}
		select {}
	case "counter":
		return asCounter(args[0])
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	case "suicide":
		n, _ := strconv.Atoi(args[0])
		withAction(syscall.Signal(n), sigDefault, func() {
			syscall.Kill(os.Getpid(), syscall.Signal(n))
			time.Sleep(time.Second)
		})
		return 99
	}
	return playMore(role, args)
}

// asSnug is a small `snug run`. -report is a file for the Result as JSON.
func asSnug(args []string) int {
	fs := flag.NewFlagSet("as-snug", flag.ExitOnError)
	var spec Spec
	fs.Float64Var(&spec.CPUs, "cpus", 0, "")
	fs.Int64Var(&spec.MemoryBytes, "memory", 0, "")
	fs.BoolVar(&spec.Counters, "counters", false, "")
	fs.IntVar(&spec.Weight, "weight", 0, "")
	fs.BoolVar(&spec.MemoryOptional, "memory-optional", false, "")
	fs.BoolVar(&spec.Own, "own", false, "")
	fs.BoolVar(&spec.NoLimit, "no-limit", false, "")
	report := fs.String("report", "", "")
	ready := fs.String("ready", "", "")
	explode := fs.Bool("panic", false, "panic when the command is about to start")
	hold := fs.String("hold", "", "let the command start when this file is there")
	fs.Parse(args)
	spec.Args = fs.Args()
	spec.Ready = func(c Confinement) {
		if *ready != "" {
			writeJSON(*ready, c)
		}
		if *explode {
			panic("on purpose")
		}
		if *hold != "" {
			for !exists(*hold) {
				time.Sleep(5 * time.Millisecond)
			}
			settle() // the signals sent before the file exists have been handled
		}
	}
	res, err := Foreground(spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, "snug: error:", err)
		if h := Hint(err); h != "" {
			fmt.Fprintln(os.Stderr, "snug: hint:", h)
		}
		return ExitCode(err)
	}
	if *report != "" {
		writeJSON(*report, res)
	}
	res.Finish()
	return 0
}

// writeJSON writes a file atomically.
func writeJSON(name string, v any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(name+".tmp", b, 0o644)
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		panic(err)
	}
}

// probed is the limits of a program as it finds them itself, without the code under
// test: in every mounted cgroup tree, it looks for the directory that lists its pid.
type probed struct {
	PID     int
	CPU     string // "quota period", "" for none
	Memory  string
	Weight  string // of v2, or v1's shares
	Dirs    []string
	Parent  int
	Group   int // process group
	Environ int
}

func asProbe() int {
	p := probed{PID: os.Getpid(), Parent: os.Getppid(), Group: syscall.Getpgrp(), Environ: len(os.Environ())}
	me := strconv.Itoa(p.PID)
	filepath.WalkDir("/sys/fs/cgroup", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" {
			return nil
		}
		b, _ := os.ReadFile(name)
		for pid := range strings.FieldsSeq(string(b)) {
			if pid != me {
				continue
			}
			dir := filepath.Dir(name)
			p.Dirs = append(p.Dirs, dir)
			get := func(file string) string {
				b, _ := os.ReadFile(filepath.Join(dir, file))
				return strings.TrimSpace(string(b))
			}
			if v := get("cpu.max"); v != "" {
				p.CPU = v
			}
			if v := get("cpu.cfs_quota_us"); v != "" {
				p.CPU = v + " " + get("cpu.cfs_period_us")
			}
			p.Weight += get("cpu.weight") + get("cpu.shares")
			if v := get("memory.max"); v != "" {
				p.Memory = v
			}
			if v := get("memory.limit_in_bytes"); v != "" {
				p.Memory = v
			}
		}
		return nil
	})
	return encode(p)
}

func encode(v any) int {
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 97
	}
	return 0
}

// asCounter appends the number of every signal it gets to a file, and exits with 0 at
// SIGTERM. The Go runtime uses SIGURG; stop signals keep their default action.
func asCounter(name string) int {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 96
	}
	c := make(chan os.Signal, 100)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG:
		default:
			signal.Notify(c, sig)
		}
	}
	fmt.Fprintln(f, "ready")
	for sig := range c {
		fmt.Fprintln(f, int(sig.(syscall.Signal)))
		if sig == syscall.SIGTERM {
			return 0
		}
	}
	return 95
}
