// SPDX-License-Identifier: Apache-2.0

// Command thousands starts tiny Go processes, each in a container of its own (cgroup v1, named as a kubelet
// names them, with a link in a folder of logs), and an agent beside them in a memory cgroup with a limit. It
// scrapes the agent after each interval and writes one row of figures. If the agent ends, it is started
// again, and that is counted. Half way, all processes are replaced by others in new containers.
// run calls it; it needs root, cgroup v1, and PID and mount namespaces of its own.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	count    = flag.Int("count", 1000, "processes")
	busy     = flag.Int("busy", 30, "one in so many works")
	scans    = flag.Int("scans", 80, "scans to wait for")
	limit    = flag.Int("limit", 128, "memory limit of the agent, MiB; 0 = none")
	interval = flag.Duration("interval", 5*time.Second, "of the agent")
	rollout  = flag.Bool("rollout", true, "replace all half way")
	snug     = flag.String("snug", "", "the agent's program")
	work     = flag.String("work", "", "an empty folder")
	longest  = flag.Duration("longest", 30*time.Minute, "end after this time in any case")
	names    = flag.Bool("names", true, "with --names=node")
	env      = flag.String("env", "", "a variable for the agent")
)

// SLOT tells runs at the same time apart: 0 to 9.
var (
	top     = "snug-thousands-" + os.Getenv("SLOT")
	address = "127.0.0.1:1949" + os.Getenv("SLOT")
)

var kept []byte

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(len(os.Args) > 2)
		return
	}
	flag.Parse()
	if err := drive(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child does nothing, or some work ten times a second, until its input ends.
func child(works bool) {
	if works {
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				for range 16 {
					kept = make([]byte, 16<<10)
				}
			}
		}()
	}
	os.Stdin.Read(make([]byte, 1))
}

// in returns a directory of a hierarchy of cgroup v1, below the own group.
func in(controller string, parts ...string) string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && f[1] == controller {
			return filepath.Join(append([]string{"/sys/fs/cgroup", controller, f[2], top}, parts...)...)
		}
	}
	return ""
}

func write(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }

func number(name string) int64 {
	text, _ := os.ReadFile(name)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

type container struct {
	cmd   *exec.Cmd
	dirs  []string
	link  string
	stdin *os.File
}

func start(n int, generation string) (*container, error) {
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(generation+strconv.Itoa(n))))
	uid := fmt.Sprintf("%s-%s-4%s-8%s-%s", id[:8], id[8:12], id[12:15], id[15:18], id[18:30])
	c := &container{}
	for _, controller := range []string{"cpu", "memory"} {
		dir := in(controller, "kubepods", "burstable", "pod"+uid, id)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		c.dirs = append(c.dirs, dir)
	}
	write(filepath.Join(c.dirs[0], "cpu.cfs_quota_us"), "100000")
	write(filepath.Join(c.dirs[1], "memory.limit_in_bytes"), strconv.Itoa(512<<20))
	c.link = filepath.Join(*work, "host/var/log/containers", fmt.Sprintf("web%d-%s-%s_team%d_app-%s.log", n/10, generation, random(n), n%7, id))
	if err := write(c.link, ""); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c.stdin = w
	// A shell enters the groups and becomes the program.
	script, args := "", "child"
	for _, dir := range c.dirs {
		script += "echo $$ >" + dir + "/cgroup.procs; "
	}
	if *busy > 0 && n%*busy == 0 {
		args = "child work"
	}
	self, _ := os.Executable()
	c.cmd = exec.Command("/bin/sh", "-c", script+"exec "+self+" "+args)
	c.cmd.Stdin, c.cmd.Env = r, []string{"GOGC=400", "GOMAXPROCS=1"}
	return c, c.cmd.Start()
}

func random(n int) string {
	const letters = "bcdfghjklm"
	b := make([]byte, 5)
	for i := range b {
		b[i], n = letters[n%10], n/10
	}
	return string(b)
}

func (c *container) end() {
	c.stdin.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
	os.Remove(c.link)
	for _, dir := range c.dirs {
		for range 100 {
			if syscall.Rmdir(dir) == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		syscall.Rmdir(filepath.Dir(dir))
	}
}

func startAll(generation string) (all []*container, err error) {
	for n := range *count {
		c, err := start(n, generation)
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// agent starts the agent in its group.
func agent(group string, log io.Writer) (*exec.Cmd, chan error, error) {
	args := []string{"cluster", "agent", "--root=" + *work + "/host", "--interval=" + interval.String(), "--listen=" + address, "--state=" + *work + "/state"}
	if *names {
		args = append(args, "--names=node")
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", "echo $$ >" + group + "/cgroup.procs; exec \"$0\" \"$@\"", *snug}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME=/dev/null")
	if *env != "" {
		cmd.Env = append(cmd.Env, *env)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return cmd, ended, nil
}

// page returns some figures of the agent's page, and how long it is.
func page() (values map[string]string, size int) {
	values = map[string]string{}
	client := http.Client{Timeout: 20 * time.Second}
	answer, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return values, 0
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "snug_agent_") {
			values[name] = value
		}
	}
	return values, len(text)
}

func drive() error {
	for _, dir := range []string{"host/var/log/containers", "host/sys/fs/cgroup", "state"} {
		if err := os.MkdirAll(filepath.Join(*work, dir), 0o755); err != nil {
			return err
		}
	}
	if err := syscall.Mount("/sys/fs/cgroup", filepath.Join(*work, "host/sys/fs/cgroup"), "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	group := in("memory", "agent")
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	defer syscall.Rmdir(group)
	if *limit > 0 {
		write(filepath.Join(group, "memory.limit_in_bytes"), strconv.Itoa(*limit<<20))
	}
	all, err := startAll("5d4f7c9b6d")
	defer func() {
		for _, c := range all {
			c.end()
		}
	}()
	if err != nil {
		return err
	}
	var log bytes.Buffer
	defer func() { os.WriteFile(filepath.Join(*work, "agent.log"), log.Bytes(), 0o644) }()
	begin := time.Now()
	cmd, ended, err := agent(group, &log)
	if err != nil {
		return err
	}
	defer func() { cmd.Process.Kill(); <-ended }()
	fmt.Println("seconds,event,scans,restarts,processes_in_containers,rss_kib,rss_peak_kib,group_kib,group_peak_kib,kernel_kib,open_files,cpu_seconds,last_scan_cpu,detail,dropped,page_bytes")
	restarts, done, rolled, before := 0, 0, false, 0
	for time.Since(begin) < *longest {
		select {
		case <-ended:
			restarts++
			time.Sleep(10 * time.Second) // as a kubelet, the first time
			before = done
			if cmd, ended, err = agent(group, &log); err != nil {
				return err
			}
		case <-time.After(*interval):
		}
		values, size := page()
		now, _ := strconv.Atoi(values["snug_agent_scans_total"])
		done = before + now
		event := ""
		if *rollout && !rolled && done >= *scans/2 {
			rolled, event = true, "rollout"
			for i, c := range all {
				c.end()
				if all[i], err = start(i, "7c9b6d5d4f"); err != nil {
					return err
				}
			}
		}
		row(time.Since(begin), event, done, restarts, values, group, cmd.Process.Pid, size)
		if done >= *scans {
			break
		}
	}
	return nil
}

func row(at time.Duration, event string, done, restarts int, values map[string]string, group string, pid, size int) {
	rss, peak := "", ""
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "VmRSS:":
			rss = f[1]
		case len(f) > 1 && f[0] == "VmHWM:":
			peak = f[1]
		}
	}
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	cpu := 0.0
	if f := strings.Fields(string(stat)); len(f) > 14 {
		user, _ := strconv.ParseFloat(f[13], 64)
		system, _ := strconv.ParseFloat(f[14], 64)
		cpu = (user + system) / 100
	}
	kib := func(name string) int64 { return number(filepath.Join(group, name)) >> 10 }
	fmt.Printf("%.0f,%s,%d,%d,%s,%s,%s,%d,%d,%d,%d,%.2f,%s,%s,%s,%d\n", at.Seconds(), event, done, restarts,
		values[`snug_agent_go_processes{place="container"}`], rss, peak, kib("memory.usage_in_bytes"), kib("memory.max_usage_in_bytes"),
		kib("memory.kmem.usage_in_bytes"), len(files), cpu, values["snug_agent_scan_cpu_seconds"],
		values["snug_agent_max_processes"], values["snug_agent_detail_dropped_total"], size)
}
