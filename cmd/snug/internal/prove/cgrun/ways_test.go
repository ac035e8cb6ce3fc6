// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// tree builds a file system from lines "name text"; a name that ends in / is a
// directory. \n in a text is a newline.
func tree(lines ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, " ")
		name = strings.TrimPrefix(name, "/")
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			m[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		m[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, `\n`, "\n") + "\n")}
	}
	return m
}

const (
	v2Mount = `31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate`
	v1CPU   = `32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct`
	v1Mem   = `35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory`
	v2Aside = `41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`
)

const cpuAndMemory = "cpu memory"

func TestPlan(t *testing.T) {
	const name = "snug-0123456789abcdef"
	systemd := []string{"/run/systemd/system/", "/proc/1/comm systemd"}
	// A delegated group /d with the caller in /d/leaf.
	delegated := []string{
		"/proc/self/cgroup 0::/d/leaf", "/proc/self/mountinfo " + v2Mount,
		"/sys/fs/cgroup/cgroup.subtree_control cpu memory",
		"/sys/fs/cgroup/d/cgroup.subtree_control cpu memory pids", "/sys/fs/cgroup/d/cgroup.type domain", "/sys/fs/cgroup/d/cgroup.procs ",
		"/sys/fs/cgroup/d/leaf/cgroup.subtree_control ", "/sys/fs/cgroup/d/leaf/cgroup.type domain",
		"/sys/fs/cgroup/d/leaf/cpu.max max 100000", "/sys/fs/cgroup/d/leaf/memory.max max",
	}
	tests := []struct {
		name      string
		files     []string
		needs     string // controllers; "" is both
		counters  bool
		uid       int
		owned     string // directories this uid owns
		marked    string // directories systemd marked as delegated
		want      []string
		tried     string // words from the reasons, each must be there
		wantSlice string
	}{
		{
			name:  "v2-root-enabled",
			files: []string{"/proc/self/cgroup 0::/", "/proc/self/mountinfo " + v2Mount, "/sys/fs/cgroup/cgroup.subtree_control cpuset cpu memory"},
			want:  []string{"cgroup-v2 /sys/fs/cgroup/" + name + "=/" + name},
			tried: "delegated",
		},
		{
			name:  "v2-root-not-enabled",
			files: []string{"/proc/self/cgroup 0::/", "/proc/self/mountinfo " + v2Mount, "/sys/fs/cgroup/cgroup.subtree_control cpu"},
			tried: "/sys/fs/cgroup/cgroup.subtree_control: the memory controller is not enabled for child groups",
		},
		{
			name:  "v2-only-the-needed-controller-counts",
			files: []string{"/proc/self/cgroup 0::/", "/proc/self/mountinfo " + v2Mount, "/sys/fs/cgroup/cgroup.subtree_control cpu"},
			needs: "cpu",
			want:  []string{"cgroup-v2 /sys/fs/cgroup/" + name + "=/" + name},
		},
		{
			name:  "v2-delegated",
			files: delegated, uid: 1000, owned: "/sys/fs/cgroup/d",
			want: []string{"delegated /sys/fs/cgroup/d/" + name + "=/d/" + name},
		},
		{
			name:  "v2-delegated-in-a-mount-of-a-subtree",
			files: append(slices.Clone(delegated), "/proc/self/cgroup 0::/pod/x/d/leaf", "/proc/self/mountinfo "+strings.Replace(v2Mount, " / ", " /pod/x ", 1)),
			uid:   1000, owned: "/sys/fs/cgroup/d",
			want: []string{"delegated /sys/fs/cgroup/d/" + name + "=/pod/x/d/" + name},
		},
		{
			name:  "v2-ancestor-of-another-user",
			files: delegated, uid: 1000,
			tried: "no group above the caller's own is delegated",
		},
		{
			name:  "v2-leaf-has-a-limit",
			files: append(slices.Clone(delegated), "/sys/fs/cgroup/d/leaf/memory.high 1048576"), uid: 1000, owned: "/sys/fs/cgroup/d",
			tried: "/sys/fs/cgroup/d/leaf/memory.high: the caller's own limit would not hold there",
		},
		{
			name:  "v2-leaf-has-a-pids-limit",
			files: append(slices.Clone(delegated), "/sys/fs/cgroup/d/leaf/pids.max 9"), uid: 1000, owned: "/sys/fs/cgroup/d",
			tried: "/sys/fs/cgroup/d/leaf/pids.max",
		},
		{
			name:  "v2-machine-root-is-never-an-ancestor-to-use",
			files: append(slices.Clone(delegated), "/sys/fs/cgroup/d/cgroup.subtree_control "), owned: "/sys/fs/cgroup/d,/sys/fs/cgroup",
			tried: "no group above",
		},
		{
			name: "v1",
			files: []string{
				`/proc/self/cgroup 4:memory:/pod/y\n3:cpu,cpuacct:/pod/x\n0::/`, `/proc/self/mountinfo ` + v1CPU + `\n` + v1Mem + `\n` + v2Aside,
			},
			want: []string{"cgroup-v1 /sys/fs/cgroup/cpu,cpuacct/pod/x/" + name + "=/pod/x/" + name + " /sys/fs/cgroup/memory/pod/y/" + name + "=/pod/y/" + name},
		},
		{
			name:  "v1-counters-are-optional",
			files: []string{`/proc/self/cgroup 4:memory:/y\n3:cpu,cpuacct:/x`, `/proc/self/mountinfo ` + v1CPU + `\n` + v1Mem},
			needs: "cpu", counters: true,
			want: []string{"cgroup-v1 /sys/fs/cgroup/cpu,cpuacct/x/" + name + "=/x/" + name + " /sys/fs/cgroup/memory/y/" + name + "=/y/" + name + "?"},
		},
		{
			name: "v1-and-v2-mixed",
			files: []string{
				`/proc/self/cgroup 3:cpu,cpuacct:/x\n0::/`, `/proc/self/mountinfo ` + v1CPU + `\n` + v2Aside,
				"/sys/fs/cgroup/unified/cgroup.subtree_control memory",
			},
			want: []string{"cgroup-hybrid /sys/fs/cgroup/cpu,cpuacct/x/" + name + "=/x/" + name + " /sys/fs/cgroup/unified/" + name + "=/" + name},
		},
		{
			name:  "v1-group-out-of-sight",
			files: []string{`/proc/self/cgroup 3:cpu,cpuacct:/../x`, `/proc/self/mountinfo ` + v1CPU}, needs: "cpu",
			tried: "own group is not visible from here",
		},
		{
			name:  "v1-not-mounted",
			files: []string{`/proc/self/cgroup 3:cpu:/x`, `/proc/self/mountinfo ` + v1Mem}, needs: "cpu",
			tried: "no cgroup filesystem is mounted",
		},
		{
			name:  "no-proc",
			tried: "file does not exist",
		},
		{
			name: "systemd-root",
			files: append(slices.Clone(systemd), "/proc/self/cgroup 0::/user.slice/user-0.slice/session-1.scope", "/proc/self/mountinfo "+v2Mount,
				"/sys/fs/cgroup/cgroup.subtree_control cpu memory"),
			want: []string{"systemd-scope"}, wantSlice: "user-0.slice",
			tried: "systemd manages this tree",
		},
		{
			name: "systemd-user-is-not-fooled-by-its-manager's-group",
			files: append(slices.Clone(systemd), "/proc/self/cgroup 0::/user@7.service/app.slice/t.scope", "/proc/self/mountinfo "+v2Mount,
				"/sys/fs/cgroup/user@7.service/cgroup.subtree_control cpu memory", "/sys/fs/cgroup/user@7.service/cgroup.type domain",
				"/sys/fs/cgroup/user@7.service/app.slice/cgroup.subtree_control cpu memory", "/sys/fs/cgroup/user@7.service/app.slice/cgroup.type domain"),
			uid: 7, owned: "/sys/fs/cgroup/user@7.service,/sys/fs/cgroup/user@7.service/app.slice", marked: "/sys/fs/cgroup/user@7.service",
			want: []string{"systemd-scope"}, wantSlice: "app.slice",
		},
		{
			name:  "systemd-delegated-service",
			files: append(slices.Clone(systemd), delegated...), owned: "/sys/fs/cgroup/d", marked: "/sys/fs/cgroup/d",
			want: []string{"systemd-scope", "delegated /sys/fs/cgroup/d/" + name + "=/d/" + name},
		},
		{
			name:  "systemd-v1",
			files: append(slices.Clone(systemd), `/proc/self/cgroup 3:cpu,cpuacct:/\n1:name=systemd:/system.slice/x.service`, `/proc/self/mountinfo `+v1CPU), needs: "cpu",
			want: []string{"systemd-scope"}, wantSlice: "system.slice",
			tried: "systemd manages this tree",
		},
		{
			name: "systemd-of-the-host-seen-in-a-container",
			files: []string{"/run/systemd/system/", "/proc/1/comm sh", "/proc/self/cgroup 0::/", "/proc/self/mountinfo " + v2Mount,
				"/sys/fs/cgroup/cgroup.subtree_control cpu memory"},
			want: []string{"cgroup-v2 /sys/fs/cgroup/" + name + "=/" + name},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := want{counters: tt.counters}
			if tt.needs == "" {
				tt.needs = cpuAndMemory
			}
			if strings.Contains(tt.needs, "cpu") {
				w.quota, w.period = 50000, 100000
			}
			if strings.Contains(tt.needs, "memory") {
				w.memory = 1 << 28
			}
			m := machine{
				fsys: tree(tt.files...), uid: tt.uid,
				owner: func(file string) int {
					if tt.owned != "" && (slices.Contains(strings.Split(tt.owned, ","), file) || slices.Contains(strings.Split(tt.owned, ","), path.Dir(file))) {
						return tt.uid
					}
					return 4711
				},
				delegated: func(dir string) bool { return tt.marked != "" && slices.Contains(strings.Split(tt.marked, ","), dir) },
			}
			list, tried := plan(m, w, name)
			var got []string
			for _, a := range list {
				text := string(a.way)
				for _, p := range a.parts {
					text += fmt.Sprintf(" %s=%s", p.dir, p.group)
					if p.optional {
						text += "?"
					}
					if p.dir != path.Join(p.parent, name) {
						t.Errorf("%s is not in %s", p.dir, p.parent)
					}
				}
				got = append(got, text)
				if a.way == WaySystemd && a.slice != tt.wantSlice && tt.wantSlice != "" {
					t.Errorf("slice %q, want %q", a.slice, tt.wantSlice)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("plan is %q, want %q (%v)", got, tt.want, &NoWayError{Tried: tried})
			}
			if text := (&NoWayError{Tried: tried}).Error(); !strings.Contains(text, tt.tried) {
				t.Errorf("reasons are %q, want %q in them", text, tt.tried)
			}
			if len(list) == 0 && len(tried) == 0 {
				t.Error("no way and no reason")
			}
			if cure(tried, m, w) == "" {
				t.Error("no cure")
			}
		})
	}
}

func TestCure(t *testing.T) {
	w := want{quota: 1, memory: 1}
	for _, tt := range []struct {
		name, want string
		uid        int
		tried      []Tried
	}{
		{"container", "docker run", 0, []Tried{{WayV2, &fs.PathError{Op: "mkdir", Path: "/x", Err: syscall.EROFS}}}},
		{"user", "run as root", 1000, []Tried{{WayV2, fs.ErrPermission}}},
		{"user-with-systemd", "systemctl --user", 1000, []Tried{{WaySystemd, fs.ErrPermission}, {WayDelegated, fs.ErrPermission}}},
		{"root-with-systemd", "systemd-run", 0, []Tried{{WaySystemd, fs.ErrPermission}}},
		{"user-without-session", "systemctl --user", 1000, []Tried{{WayDelegated, &shedError{"/x/pids.max"}}, {WaySystemd, errors.New("no bus")}}},
		{"limited-leaf", "without a limit of its own", 0, []Tried{{WaySystemd, &shedError{"/x/memory.max"}}}},
		{"no-proc", "mount -t proc", 0, []Tried{{"", &fs.PathError{Op: "open", Path: "/proc/self/cgroup", Err: fs.ErrNotExist}}}},
		{"no-cgroupfs", "mount -t cgroup2", 0, []Tried{{"", fmt.Errorf("%w, x", errNotMounted)}}},
		{"covered", "unmount", 0, []Tried{{WayV1, fmt.Errorf("%w, /x", errCovered)}}},
		{"descriptors", "ulimit -n", 0, []Tried{{WayV1, os.NewSyscallError("socketpair", syscall.EMFILE)}}},
		{"shim-crashed", "dmesg", 0, []Tried{{WayV1, &errSilent{Exit{Code: 139, Signal: 11}}}}},
		{"shim-killed", "raise the memory limit", 0, []Tried{{WayV1, &errSilent{Exit{Code: 137, Signal: 9}}}}},
		{"root", "cpu and memory in cgroup.subtree_control", 0, []Tried{{WayV2, fs.ErrPermission}}},
	} {
		if got := cure(tt.tried, machine{uid: tt.uid}, w); !strings.Contains(got, tt.want) {
			t.Errorf("%s: cure is %q, want %q in it", tt.name, got, tt.want)
		}
	}
}

func TestShed(t *testing.T) {
	fsys := tree("/c/a/memory.high 4096", "/c/a/s/x/cpu.max max 100000", "/c/a/s/x/pids.max max", "/c/a/s/x/cpuset.cpus ",
		"/c/b/pids.max 10", "/1/a/x/cpu.cfs_quota_us 1000", "/1/a/x/cpu.cfs_period_us 5000", "/1/a/y/cpu.cfs_quota_us -1", "/1/a/y/cpu.cfs_period_us 5000")
	for _, tt := range []struct {
		name, mount, own, group, want string
		v1                            bool
	}{
		{"below-its-own", "/c", "/a/s/x", "/a/s/x/new", "", false},
		{"beside-an-unlimited-leaf", "/c", "/a/s/x", "/a/s/new", "", false},
		{"out-of-a-limited-group", "/c", "/a/s/x", "/t/new", "/c/a/memory.high", false},
		{"systemd-sets-a-pids-limit-anyway", "/c", "/b", "/new", "", false},
		{"v1-out-of-a-quota", "/1", "/a/x", "/a/new", "/1/a/x/cpu.cfs_quota_us", true},
		{"v1-out-of-nothing", "/1", "/a/y", "/a/new", "", true},
	} {
		h := hierarchy{v1: tt.v1, mount: tt.mount, root: "/", path: tt.own}
		if got := shed(fsys, h, tt.group); got != tt.want {
			t.Errorf("%s: sheds %q, want %q", tt.name, got, tt.want)
		}
	}
}
