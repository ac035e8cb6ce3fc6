// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/programs"
)

// bundle is a container of runc: a directory with config.json and the root.
type bundle struct{ dir, id string }

// newBundle has one static Go program as its whole root. It prints its figures and waits. (OCI
// runtime specification 1.0.2, config.md and config-linux.md.)
func newBundle(t *testing.T, env ...string) bundle {
	t.Helper()
	b := bundle{t.TempDir(), fmt.Sprintf("e2e-debian-%d-%s", os.Getpid(), strings.ToLower(t.Name()))}
	root := filepath.Join(b.dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	probe := programs.Program{Toolchain: "go1.26.8", Line: "1.26", Kind: programs.Plain}
	programs.Build(t, root, []programs.Program{probe})
	type object = map[string]any
	config, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"root":       object{"path": root, "readonly": true},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
		},
		"process": object{
			"args": []string{"/" + probe.Name(), "wait"}, "env": env, "cwd": "/",
			"user": object{"uid": 65532, "gid": 65532}, "capabilities": object{}, "noNewPrivileges": true,
		},
		"linux": object{
			"cgroupsPath": b.id, // below the group of this process
			"namespaces":  []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}},
		},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(b.dir, "config.json"), config, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		// --force kills a running container, and does not fail if it is gone.
		if out, err := exec.CommandContext(ctx, "runc", b.args("delete", "--force", b.id)...).CombinedOutput(); err != nil {
			t.Errorf("remove the container: %v: %s", err, out)
		}
	})
	return b
}

func (b bundle) args(args ...string) []string {
	return append([]string{"--root", filepath.Join(b.dir, "state")}, args...)
}

// pid returns the id of the container's first process, which runc wrote to a file.
func (b bundle) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(b.dir, "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// checkNamespaces fails if the process shares this process's mount or pid namespace.
func checkNamespaces(t *testing.T, pid int) {
	t.Helper()
	for _, ns := range []string{"mnt", "pid"} {
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
		own, err2 := os.Readlink("/proc/self/ns/" + ns)
		if err != nil || err2 != nil || its == own {
			t.Fatalf("%s namespace %s, this process's %s: %v, %v", ns, its, own, err, err2)
		}
	}
}

// want waits until a process runs the executable and all its figures are known, and compares them.
func want(t *testing.T, snug string, pid int, exe string, w process) {
	t.Helper()
	until(t, exe, func() error {
		r, err := ps(snug, pid)
		if err != nil {
			return err
		}
		if !strings.Contains(r.Exe, exe) {
			return fmt.Errorf("runs %s", r.Exe)
		}
		for _, f := range []struct {
			what      string
			got, want any
		}{
			{"Go", r.Go, w.Go}, {"GOMAXPROCS", *r.Procs, *w.Procs}, {"set by", *r.By, *w.By},
			{"GOGC", *r.GOGC, *w.GOGC}, {"GOMEMLIMIT", *r.GOMEMLIMIT, *w.GOMEMLIMIT},
		} {
			if f.got != f.want {
				t.Errorf("%s: %s %v, want %v", r.Exe, f.what, f.got, f.want)
			}
		}
		return nil
	})
}

// runcGo returns the Go release that built Debian's runc, according to runc.
func runcGo(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("runc", "--version").Output()
	if err != nil {
		t.Fatalf("%v: install the packages of e2e/packages.txt", err)
	}
	_, rest, _ := bytes.Cut(out, []byte("\ngo: "))
	version, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(version)
}

// TestRuncRuns reads `runc run`, which stays as the parent of its container, and the container's
// program, which has mount and pid namespaces of its own.
func TestRuncRuns(t *testing.T) {
	snug := tool(t)
	b := newBundle(t, "GOMAXPROCS=4", "GOGC=70", "GOMEMLIMIT=200MiB")
	parent := start(t, []string{"GOMAXPROCS=3", "GOGC=55", "GOMEMLIMIT=300MiB"}, "runc",
		b.args("run", "--bundle", b.dir, "--pid-file", filepath.Join(b.dir, "pid"), b.id)...)
	var pid int
	until(t, "the container", func() (err error) { pid, err = b.pid(); return err })
	want(t, snug, parent, "runc", process{Go: runcGo(t), Procs: new(3), By: new("environment"), GOGC: new(55), GOMEMLIMIT: new(int64(300 << 20))})
	want(t, snug, pid, "/go1.26.8-", process{Go: "go1.26.8", Procs: new(4), By: new("environment"), GOGC: new(70), GOMEMLIMIT: new(int64(200 << 20))})
	checkNamespaces(t, pid)
}

// TestRuncInit reads `runc init`, which `runc create` leaves waiting in the container's namespaces.
// It runs from a sealed copy of runc in memory or from a detached mount, so its executable has no
// path. Its code sets GOMAXPROCS to 1, regardless of the environment (init.go of runc).
func TestRuncInit(t *testing.T) {
	snug := tool(t)
	b := newBundle(t, "GOMAXPROCS=4", "GOGC=70", "GOMEMLIMIT=200MiB")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	runc := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, "runc", b.args(args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOMAXPROCS=3"}
		// The container's process would keep the end of a pipe open.
		said, err := os.Create(filepath.Join(b.dir, "said"))
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("runc %v: %v\n%s", args, err, text)
		}
	}
	runc("create", "--bundle", b.dir, "--pid-file", filepath.Join(b.dir, "pid"), b.id)
	pid, err := b.pid()
	if err != nil {
		t.Fatal(err)
	}
	checkNamespaces(t, pid)
	var r process
	until(t, "runc init", func() (err error) { r, err = ps(snug, pid); return err })
	if *r.Procs != 1 || *r.By != "code" || *r.GOGC != 100 || r.Go != runcGo(t) || !strings.Contains(r.Exe, "runc") {
		t.Errorf("runc init: %+v", r)
	}
	runc("start", b.id)
	// The same process now runs another program.
	want(t, snug, pid, "/go1.26.8-", process{Go: "go1.26.8", Procs: new(4), By: new("environment"), GOGC: new(70), GOMEMLIMIT: new(int64(200 << 20))})
}
