// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/automaxprocs/maxprocs"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// readers lists the readers of each situation. Each runs with the tree as its root directory, as a
// user without root's access to unreadable files.
var readers = []string{"runtime", "automaxprocs", "automemlimit", "snug"}

// situations extracts every situation and prints each reader's answer with the right one.
func situations(args []string) error {
	fs := flag.NewFlagSet("situations", flag.ExitOnError)
	from := fs.String("dir", "testdata/situations", "the situations")
	fs.Parse(args)
	all, err := fixture.LoadAll(os.DirFS(*from))
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Println("situation,figure,reader,want,got,verdict")
	for _, s := range all {
		// In these situations an inode number or a process identifies the own group, and extracted
		// files have neither.
		if strings.HasPrefix(s.Name, "v2-host-tree-") {
			continue
		}
		if err := runInside(self, s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

func runInside(self string, s *fixture.Situation) error {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer func() {
		exec.Command("chmod", "-R", "u+rwX", dir).Run()
		os.RemoveAll(dir)
	}()
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	if err := s.Extract(root); err != nil {
		return err
	}
	if err := onDisk(root); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(root, "peers-probe"), self); err != nil {
		return err
	}
	want := wanted(s.Want)
	model, err := modelled(s)
	if err != nil {
		return err
	}
	fmt.Printf("%s,model,runtime,%s,%s,%s\n", s.Name, want["model"], model, verdict("model", want["model"], model))
	for _, reader := range readers {
		got := ask(root, reader)
		for _, figure := range []string{"procs", "quota", "hard", "soft"} {
			right := want[figure]
			if cores, err := strconv.ParseFloat(want["quota"], 64); figure == "procs" && reader == "snug" && err == nil && cores < 1 {
				right = "1" // snug's own minimum
			}
			if g, ok := got[figure]; ok {
				fmt.Printf("%s,%s,%s,%s,%s,%s\n", s.Name, figure, reader, right, g, verdict(figure, right, g))
			}
		}
	}
	return nil
}

// onDisk writes the device of the extracted files into the mount table. On a live machine, snug
// uses the device of a cgroup mount to tell whether a directory belongs to it.
func onDisk(root string) error {
	name := filepath.Join(root, "proc/self/mountinfo")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil // a situation without a mount table
	}
	var st syscall.Stat_t
	if err := syscall.Stat(root, &st); err != nil {
		return err
	}
	dev := uint64(st.Dev) // makedev(3)
	device := fmt.Sprintf("%d:%d", dev>>8&0xfff|dev>>32&^0xfff, dev&0xff|dev>>12&^0xff)
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		f := strings.SplitN(line, " ", 6)
		if len(f) < 6 || !strings.Contains(line, " - cgroup") {
			continue
		}
		// An empty directory belongs to a mount on top of this one.
		if entries, err := os.ReadDir(filepath.Join(root, cgroup.Unescape([]byte(f[4])))); err != nil || len(entries) > 0 {
			f[2] = device
			lines[i] = strings.Join(f, " ")
		}
	}
	return os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644)
}

// modelled returns the GOMAXPROCS that Go 1.26 and 1.27 choose by themselves on the CPUs of the
// situation, according to package plan's model of the runtime. If this machine has enough CPUs, the
// figure procs is the choice of a real runtime.
func modelled(s *fixture.Situation) (string, error) {
	l, err := limits.Read(limits.Process{FS: s.FS})
	if err != nil {
		return "", err
	}
	switch n := plan.RuntimeProcs(&l.CPU, plan.Go{}); n {
	case plan.Crash:
		return "crash", nil
	case 0:
		return "unknown", nil
	default:
		return strconv.Itoa(n), nil
	}
}

// wanted returns the right figures. GOMAXPROCS follows the runtime's rule for the tightest quota,
// on this machine's CPUs (procs) or those of the situation (model).
func wanted(text []byte) map[string]string {
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "cpu.quota_cores":
			want["quota"] = value
		case "cpu.affinity_cpus":
			want["affinity"] = value
		case "memory.hard_bytes":
			want["hard"] = value
		case "memory.soft_bytes":
			want["soft"] = value
		}
	}
	for figure, cpus := range map[string]string{"procs": strconv.Itoa(runtime.NumCPU()), "model": want["affinity"]} {
		want[figure] = cpus
		n, err := strconv.Atoi(cpus)
		cores, err2 := strconv.ParseFloat(want["quota"], 64)
		if err == nil && err2 == nil && cores < float64(n) {
			want[figure] = strconv.Itoa(min(n, max(2, int(math.Ceil(cores)))))
		}
	}
	return want
}

// verdict compares an answer with the right one. If the right answer is unknown, any answer that is
// not a number is right.
func verdict(figure, want, got string) string {
	w, werr := strconv.ParseFloat(want, 64)
	g, gerr := strconv.ParseFloat(got, 64)
	switch {
	case got == "crash":
		return "crash"
	case werr == nil && gerr == nil && math.Abs(w-g) <= 1e-9*math.Abs(w):
		return "right"
	case want == "unknown" && gerr != nil:
		return "right"
	case strings.HasPrefix(got, "error"):
		return "error"
	case want == got:
		return "right"
	}
	return "wrong"
}

// ask runs one reader in the tree. Some quotas crash the runtime before main, so for the libraries
// the runtime's own reading of cgroups is off.
func ask(root, reader string) map[string]string {
	cmd := exec.Command("/peers-probe", "probe", reader)
	cmd.Dir = "/"
	cmd.Env = []string{}
	if reader != "runtime" {
		cmd.Env = []string{"GODEBUG=containermaxprocs=0,updatemaxprocs=0"}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	out, err := cmd.Output()
	got := map[string]string{}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got[map[string]string{"runtime": "procs", "automaxprocs": "quota", "automemlimit": "soft", "snug": "quota"}[reader]] = "crash"
		return got
	}
	if err != nil {
		got["quota"] = "error: " + clean(err)
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[key] = value
	}
	return got
}

func clean(err error) string {
	return strings.NewReplacer(",", ";", "\n", " ", "\"", "'").Replace(err.Error())
}

// probe runs one reader inside the tree.
func probe(args []string) error {
	switch args[0] {
	case "runtime":
		fmt.Println("procs", runtime.GOMAXPROCS(0))
	case "automaxprocs":
		quota := "none"
		_, err := maxprocs.Set(maxprocs.Min(1), maxprocs.RoundQuotaFunc(func(v float64) int {
			quota = strconv.FormatFloat(v, 'g', -1, 64)
			return 1
		}))
		if err != nil {
			quota = "error: " + clean(err)
		}
		fmt.Println("quota", quota)
	case "automemlimit":
		limit, err := memlimit.FromCgroup()
		switch {
		case errors.Is(err, memlimit.ErrNoLimit):
			fmt.Println("hard none\nsoft none")
		case err != nil:
			fmt.Printf("hard error: %s\nsoft error: %s\n", clean(err), clean(err))
		default:
			fmt.Printf("hard %d\nsoft %d\n", limit, limit)
		}
	case "snug":
		l, err := limits.Self()
		if err != nil {
			return err
		}
		fmt.Println("quota", value(l.CPU.Quota))
		fmt.Println("hard", value(l.Memory.Hard))
		fmt.Println("soft", value(l.Memory.Soft))
	}
	return nil
}

func value[T int64 | float64](v limits.Value[T]) string {
	switch v.State {
	case limits.Known:
		return fmt.Sprint(v.N)
	case limits.None:
		return "none"
	}
	return "unknown"
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
