// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/internal/cgroup"
)

// More programs that the tests run. Nothing here needs a shell or any file but
// this one, so that the tests also run in an otherwise empty virtual machine:
//
//	as-into DIRS -- CMD...    enters the groups (comma list), then becomes CMD
//	as-readonly CMD...        makes every cgroup mount read-only, then becomes CMD
//	as-without-memory CMD...  unmounts the v1 tree of the memory controller, then
//	                          becomes CMD
//	as-newproc CMD...         mounts a /proc for its pid namespace, then becomes CMD
//	as-fifo CMD...            becomes real-time, then CMD
//	as-leaver HOW             leaves behind in its group: "process", "group", or
//	                          "both", a process in a group below
//	as-orphans N              makes N orphans that end at once, prints how many
//	                          are left a minute later, or as soon as none is
//	as-shell FILE CMD...      a job-control shell with one job; see asShell
//	as-with FILE CMD...       starts as-counter FILE in its process group, then becomes CMD
//	as-background CMD...      starts CMD as a background job of as-shell, which then
//	                          outlives CMD
//	as-parent CMD...          starts CMD and ends
//	as-reader FILE            at SIGUSR1 appends a line of its input to FILE; ends by
//	                          Ctrl-C, at the end of input, and at SIGTERM
//	as-bouncer FILE           sends SIGUSR1 to its parent, writes which signals it gets
//	as-links FD...            prints what its descriptors are
//	as-family FILE            leaves a child and a daemon running, writes their pids
//	                          and its own to FILE, and ignores SIGTERM
//	as-pulses                 uses 45 ms of CPU time, sleeps 255 ms, and so on
//	as-frugal N CMD...        becomes CMD, which may have N files open
func playMore(role string, args []string) int {
	switch role {
	case "into":
		for dir := range strings.SplitSeq(args[0], ",") {
			check(os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0))
		}
		return become(args[2:])
	case "readonly":
		check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		text, err := os.ReadFile("/proc/self/mountinfo")
		check(err)
		mounts, _ := cgroup.Mounts(text)
		for _, m := range mounts {
			check(unix.Mount("", m.Point, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
		}
		return become(args)
	case "without-memory":
		check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		text, err := os.ReadFile("/proc/self/mountinfo")
		check(err)
		mounts, _ := cgroup.Mounts(text)
		for _, m := range mounts {
			if m.Serves(cgroup.Group{V1: true}, "memory") {
				check(unix.Unmount(m.Point, unix.MNT_DETACH))
			}
		}
		return become(args)
	case "newproc":
		check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		check(unix.Mount("proc", "/proc", "proc", 0, ""))
		return become(args)
	case "fifo":
		runtime.LockOSThread()
		param := struct{ priority int32 }{1}
		_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&param)))
		if errno != 0 {
			check(errno)
		}
		return become(args)
	case "leaver":
		return asLeaver(args[0])
	case "sleeper":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		time.Sleep(time.Hour)
		return 0
	case "family":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		check(os.WriteFile(args[0], fmt.Appendln(nil, os.Getpid(), spawn("as-sleeper"), daemon("as-sleeper")), 0o644))
		time.Sleep(time.Hour)
		return 0
	case "pulses":
		for {
			for start := cpuTime(); cpuTime()-start < 45*time.Millisecond; {
			}
			time.Sleep(255 * time.Millisecond)
		}
	case "frugal":
		n, _ := strconv.ParseUint(args[0], 10, 64)
		unix.CloseRange(100, 1<<30, 0) // files inherited from the environment of the tests
		check(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}))
		return become(args[1:])
	case "orphans":
		n, _ := strconv.Atoi(args[0])
		for range n {
			spawn("as-orphan-maker")
		}
		for range n {
			unix.Wait4(-1, nil, 0, nil)
		}
		left := orphans()
		for end := time.Now().Add(time.Minute); left > 0 && time.Now().Before(end); left = orphans() {
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println("orphans", left)
		return 0
	case "orphan-maker":
		spawn("as-exit", "0")
		return 0
	case "shell":
		return asShell(args[0], args[1:])
	case "with":
		spawn("as-counter", args[0])
		return become(args[1:])
	case "parent":
		_, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
		check(err)
		return 0
	case "reader":
		return asReader(args[0])
	case "bouncer":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGUSR1)
		check(unix.Kill(os.Getppid(), unix.SIGUSR1))
		check(os.WriteFile(args[0], fmt.Appendln(nil, int((<-c).(syscall.Signal))), 0o644))
		return 0
	case "links":
		for _, fd := range args {
			link, err := os.Readlink("/proc/self/fd/" + fd)
			fmt.Println(fd, link, err == nil)
		}
		return 0
	}
	fmt.Fprintln(os.Stderr, "no such role", role)
	return 98
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u unix.Rusage
	check(unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "test helper:", err)
		os.Exit(94)
	}
}

func become(args []string) int {
	check(syscall.Exec(args[0], args, os.Environ()))
	return 93
}

func spawn(args ...string) int {
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"t"}, args...),
		&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	check(err)
	return pid
}

// daemon starts a program in a session of its own.
func daemon(args ...string) int {
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"t"}, args...),
		&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
	check(err)
	return pid
}

// orphans returns the number of as-exit processes and zombies.
func orphans() int {
	n := 0
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline") // a zombie has none
		b, _ := os.ReadFile(dir + "/stat")
		_, rest, _ := strings.Cut(string(b), ") ")
		if strings.HasPrefix(string(line), "t\x00as-exit\x00") || strings.HasPrefix(rest, "Z") {
			n++
		}
	}
	return n
}

// asLeaver leaves a process, a group or both behind in its groups named snug-*.
func asLeaver(how string) int {
	var own []string
	filepath.WalkDir("/sys/fs/cgroup", func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && ownName(d.Name()) {
			b, _ := os.ReadFile(filepath.Join(name, "cgroup.procs"))
			for pid := range strings.FieldsSeq(string(b)) {
				if pid == strconv.Itoa(os.Getpid()) {
					own = append(own, name)
				}
			}
		}
		return nil
	})
	if len(own) == 0 {
		return 92
	}
	pid := 0
	if how != "group" {
		pid = spawn("as-sleeper")
	}
	if how != "process" {
		for _, dir := range own {
			check(os.MkdirAll(filepath.Join(dir, "below", "deep"), 0o755))
			if pid != 0 {
				check(os.WriteFile(filepath.Join(dir, "below", "deep", "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
			}
		}
	}
	return 0
}

// asShell is the job control of a shell: it leads a session with the terminal as
// descriptor 0, runs one job in the foreground, in a process group of its own, and
// writes the events of the job to file. When the job stops, asShell takes the terminal
// back; a line "fg" on descriptor 3 continues the job.
func asShell(file string, args []string) int {
	// Caught, because the job would inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGHUP)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	check(err)
	attr := &syscall.SysProcAttr{Foreground: true, Ctty: 0}
	commands := bufio.NewScanner(os.NewFile(3, "commands"))
	if args[1] == "as-background" {
		attr, args = &syscall.SysProcAttr{Setpgid: true}, args[2:]
		defer commands.Scan()
	}
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr})
	check(err)
	signal.Ignore(syscall.SIGTTOU) // to take the terminal back from the background
	fmt.Fprintln(f, "job", pid)
	for {
		var ws unix.WaitStatus
		if _, err := unix.Wait4(pid, &ws, unix.WUNTRACED, nil); err == unix.EINTR {
			continue
		} else {
			check(err)
		}
		if front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); !ws.Signaled() && (err != nil || front != pid && front != unix.Getpgrp()) {
			fmt.Fprintln(f, "the terminal is with", front, err)
		}
		switch {
		case ws.Stopped():
			check(unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()))
			fmt.Fprintln(f, "stopped", int(ws.StopSignal()))
			if !commands.Scan() {
				return 91
			}
			if commands.Text() != "bg" {
				check(unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pid))
			}
			if commands.Text() != "cont" {
				check(unix.Kill(-pid, unix.SIGCONT))
			} else { // continue snug alone
				check(unix.Kill(pid, unix.SIGCONT))
			}
			fmt.Fprintln(f, "continued")
		case ws.Signaled():
			fmt.Fprintln(f, "killed", int(ws.Signal()))
			return 0
		default:
			fmt.Fprintln(f, "exited", ws.ExitStatus())
			return 0
		}
	}
}

// asReader reads a line of its input at each SIGUSR1. Other signals have their default
// action, except SIGHUP, at which it exits with 0.
func asReader(name string) int {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	check(err)
	c := make(chan os.Signal, 10)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGHUP)
	in := bufio.NewReader(os.Stdin)
	fmt.Fprintln(f, "ready")
	for sig := range c {
		if sig == syscall.SIGHUP {
			fmt.Fprintln(f, "hung up")
			return 0
		}
		line := make(chan string)
		go func() {
			text, _ := in.ReadString('\n')
			line <- text
		}()
		select {
		case text := <-line:
			fmt.Fprintln(f, strings.TrimSpace(text))
		case <-c:
			fmt.Fprintln(f, "hung up")
			return 0
		}
	}
	return 0
}

// asSystemdRun acts as systemd-run, in the groups and with the quirk that
// CGRUN_FAKE_SYSTEMD names.
func asSystemdRun(args []string) int {
	how := strings.Fields(os.Getenv("CGRUN_FAKE_SYSTEMD"))
	quirk, parents := how[0], how[1:]
	name, set := "", map[string]string{}
	for args[0] != "--" {
		if value, ok := strings.CutPrefix(args[0], "--unit="); ok {
			name = value
		}
		if args[0] == "-p" {
			args = args[1:]
			key, value, _ := strings.Cut(args[0], "=")
			set[key] = value
		}
		args = args[1:]
	}
	if quirk == "refuse" {
		fmt.Fprintln(os.Stderr, "Failed to connect to bus: No medium found")
		return 1
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(set["CPUQuota"], "%"), 64)
	check(err)
	quota := strconv.Itoa(int(percent*1000 + 0.5))
	if quirk == "half-quota" {
		quota = strconv.Itoa(int(percent * 500))
	}
	if quirk == "elsewhere" {
		name = "other.scope"
	}
	for _, parent := range parents {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			check(err)
		}
		for file, value := range map[string]string{
			"cpu.max": quota + " 100000", "cpu.cfs_quota_us": quota,
			"memory.max": set["MemoryMax"], "memory.limit_in_bytes": set["MemoryMax"],
			"cpu.weight": set["CPUWeight"], "cpu.shares": "2048", // 1024 is the default, 100 on v2
		} {
			weight := file == "cpu.weight" || file == "cpu.shares"
			if quirk == "no-quota" && strings.HasPrefix(file, "cpu") && !weight || quirk == "no-weight" && weight {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
				check(os.WriteFile(filepath.Join(dir, file), []byte(value), 0))
			}
		}
		check(os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0))
	}
	return become(args[1:])
}
