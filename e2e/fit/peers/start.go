// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// candidate is a command whose start is timed.
type candidate struct {
	name string
	args []string
	env  []string // added to this process's environment
}

// start times processes from fork to exit, one of each kind in turn, and prints the wall and CPU
// time of each run (user and system, rusage of the child).
func start(args []string) error {
	fs := flag.NewFlagSet("start", flag.ExitOnError)
	rounds := fs.Int("rounds", 600, "runs of each")
	setting := fs.String("setting", "plain", "plain; limits: in a cgroup v1 group with a quota of 1.5 and 512 MiB; mounts: among 300 more mounts")
	tool := fs.String("snug", "", "the snug tool, to time snug run as well")
	fs.Parse(args)
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := candidates(dir, *tool)
	if err != nil {
		return err
	}
	fmt.Println("setting,round,variant,wall_ns,cpu_ns")
	switch *setting {
	case "limits":
		leave, err := enterGroup(1)
		if err != nil {
			return err
		}
		defer leave()
	case "mounts":
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self, append([]string{"mounted", dir, strconv.Itoa(*rounds)}, *tool)...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		return cmd.Run()
	}
	return timeAll(os.Stdout, *setting, all, *rounds)
}

// candidates builds the candidates in dir.
func candidates(dir, tool string) ([]candidate, error) {
	var all []candidate
	for _, tags := range append(variants, "debug") {
		to := filepath.Join(dir, label(tags))
		if _, err := os.Stat(to); err != nil {
			if err := build(to, "hello", tags); err != nil {
				return nil, err
			}
		}
		all = append(all, candidate{name: label(tags), args: []string{to}})
	}
	all = append(all, candidate{"snug-off", []string{filepath.Join(dir, "snug")}, []string{"SNUG=off"}})
	if tool != "" {
		all = append(all, candidate{name: "snug-run", args: []string{tool, "run", "--", filepath.Join(dir, "base")}})
	}
	return all, nil
}

// mounted is start -setting mounts in a mount namespace of its own.
func mounted(args []string) error {
	dir, tool := args[0], args[2]
	rounds, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	all, err := candidates(dir, tool)
	if err != nil {
		return err
	}
	for i := range 300 {
		at := filepath.Join(dir, fmt.Sprintf("mount-%03d-with-a-path-of-some-length", i))
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(dir, at, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind mount: %w, %s", err, at)
		}
	}
	return timeAll(os.Stdout, "mounts", all, rounds)
}

func timeAll(to io.Writer, setting string, all []candidate, rounds int) error {
	w := bufio.NewWriter(to)
	defer w.Flush()
	for round := -3; round < rounds; round++ {
		for i := range all {
			c := all[(i+max(round, 0))%len(all)]
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Env = append(os.Environ(), c.env...)
			begin := time.Now()
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			wall := time.Since(begin)
			cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if round >= 0 { // the first few warm the caches
				fmt.Fprintf(w, "%s,%d,%s,%d,%d\n", setting, round, c.name, wall.Nanoseconds(), cpu.Nanoseconds())
			}
		}
	}
	return nil
}

// summary reads the output of start and prints minimum, first quartile and median of each
// candidate, in µs, and the differences from the baseline.
func summary(args []string) error {
	type key struct{ setting, variant string }
	cpu, wall := map[key][]float64{}, map[key][]float64{}
	var order []key
	for _, name := range args {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			return err
		}
		for _, row := range rows[1:] {
			k := key{row[0], row[2]}
			if cpu[k] == nil {
				order = append(order, k)
			}
			for i, to := range []map[key][]float64{wall, cpu} {
				ns, err := strconv.ParseFloat(row[3+i], 64)
				if err != nil {
					return err
				}
				to[k] = append(to[k], ns/1000)
			}
		}
	}
	fmt.Println("| setting | variant | runs | CPU µs min / p25 / median | added p25 / median | wall µs min / p25 / median | added p25 / median |")
	fmt.Println("|--|--|--|--|--|--|--|")
	for _, k := range order {
		base := key{k.setting, "base"}
		c, cb, w, wb := quartiles(cpu[k]), quartiles(cpu[base]), quartiles(wall[k]), quartiles(wall[base])
		fmt.Printf("| %s | %s | %d | %.0f / %.0f / %.0f | %+.0f / %+.0f | %.0f / %.0f / %.0f | %+.0f / %+.0f |\n", k.setting, k.variant, len(cpu[k]),
			c[0], c[1], c[2], c[1]-cb[1], c[2]-cb[2], w[0], w[1], w[2], w[1]-wb[1], w[2]-wb[2])
	}
	return nil
}

// quartiles returns the minimum, the first quartile and the median.
func quartiles(x []float64) [3]float64 {
	slices.Sort(x)
	return [3]float64{x[0], x[len(x)/4], x[len(x)/2]}
}
