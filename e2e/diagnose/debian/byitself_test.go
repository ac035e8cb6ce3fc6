// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/e2e/internal/cgv1"
)

// container is a cgroup that programs start in.
type container struct {
	name   string
	quota  string // microseconds of 100 ms; "" = none
	memory int64  // bytes; 0 = none
}

// containers distinguish the rules on two CPUs: automaxprocs rounds 1.5 down to 1; snug and Go 1.25
// round it up, to at least 2; below one core snug chooses 1.
var containers = []container{
	{"none", "", 0},
	{"0.5", "50000", 0},
	{"1-512MiB", "100000", 512 << 20},
	{"1.5", "150000", 0},
}

// planned is the part of `snug plan --json` that is compared.
type planned struct {
	GOMAXPROCS struct{ Value *int }
	GOMEMLIMIT struct {
		Value *int64 `json:"value_bytes"`
	}
	Runtime struct {
		GOMAXPROCS   *int
		Automaxprocs *int
		Automemlimit bool
		Go           string
	}
	Program struct {
		Sets []string `json:"gomaxprocs_set_by"`
	}
}

// sentence matches the line of a plan's text about the program by itself.
var sentence = regexp.MustCompile(`(?m)^by itself (\S+) would use GOMAXPROCS=(\d+)(?: \(not the plan\))?` +
	`(?:, or (\d+) by automaxprocs in it, which rounds the quota down,)?(?:, unless (.*) in it sets another,)? ` +
	`and (no GOMEMLIMIT|the GOMEMLIMIT that automemlimit in it may set): `)

// checkText checks that the text of a plan agrees with its JSON.
func (p *planned) checkText(t *testing.T, text string) {
	t.Helper()
	memory := "no GOMEMLIMIT"
	if p.Runtime.Automemlimit {
		memory = "the GOMEMLIMIT that automemlimit in it may set"
	}
	want := []string{p.Runtime.Go, number(p.Runtime.GOMAXPROCS), strings.TrimPrefix(number(p.Runtime.Automaxprocs), "-"), strings.Join(p.Program.Sets, " or "), memory}
	if m := sentence.FindStringSubmatch(text); m == nil || !slices.Equal(m[1:], want) {
		t.Fatalf("as JSON: %q; the text:\n%s", want, text)
	}
}

// running is a program in a container.
type running struct {
	pid  int
	file string // receives its output
	t    *testing.T

	done chan struct{} // closed after Wait
	err  error         // exit error, valid after done
}

// startIn runs a command in a group until the test ends, with GODEBUG=schedtrace: the runtime
// prints its GOMAXPROCS ten times a second (package runtime, documentation).
func startIn(t *testing.T, base *cgv1.Base, group string, args ...string) *running {
	t.Helper()
	dir := t.TempDir()
	r := &running{file: filepath.Join(dir, "said"), t: t, done: make(chan struct{})}
	said, err := os.Create(r.file)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := base.Command(t, group, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, said, said
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CACHE_HOME=" + filepath.Dir(args[0]), "GODEBUG=schedtrace=100"}
	// SIGTERM first; the context kills it only if that does not help.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.pid = cmd.Process.Pid
	go func() {
		defer close(r.done)
		r.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		<-r.done
		_ = syscall.Kill(-r.pid, syscall.SIGKILL) // processes that it has started, if any
		if t.Failed() {
			t.Logf("%v ended: %v\n%s", args, r.err, r.said())
		}
	})
	return r
}

func (r *running) said() string {
	text, err := os.ReadFile(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// ended returns an error if the program has ended.
func (r *running) ended() error {
	select {
	case <-r.done:
		return fmt.Errorf("the program has ended: %v", r.err)
	default:
		return nil
	}
}

// traced matches a line of GODEBUG=schedtrace.
var traced = regexp.MustCompile(`(?m)^SCHED \d+ms: gomaxprocs=(\d+) .*\n`)

// procs returns the GOMAXPROCS in the next line of schedtrace.
func (r *running) procs() int {
	r.t.Helper()
	before := len(r.said())
	n := 0
	until(r.t, "the runtime's own word", func() error {
		m := traced.FindStringSubmatch(r.said()[before:])
		if m == nil {
			if err := r.ended(); err != nil {
				r.t.Fatal(err)
			}
			return errors.New("no line of schedtrace")
		}
		var err error
		n, err = strconv.Atoi(m[1])
		return err
	})
	return n
}

// TestByItself: a program by itself uses the GOMAXPROCS that `snug plan --exe` predicts, and with
// `snug run` what the plan wants.
func TestByItself(t *testing.T) {
	byItself(t, tool(t), servers, func(t *testing.T, s *server) string {
		file, err := exec.LookPath(s.file)
		if err != nil {
			t.Fatalf("%v: install the packages of e2e/packages.txt", err)
		}
		return file
	})
}

func byItself(t *testing.T, snug string, servers []server, find func(t *testing.T, s *server) string) {
	base := cgv1.New(t, "cpu", "memory")
	groups := map[string]map[string]map[string]string{"cpu": {}, "memory": {}}
	group := func(s *server, c *container) string { return "/" + s.name + "-" + c.name }
	for i := range servers {
		for j := range containers {
			cpu, memory := map[string]string{}, map[string]string{}
			if c := &containers[j]; c.quota != "" {
				cpu["cpu.cfs_quota_us"] = c.quota
			}
			if c := &containers[j]; c.memory != 0 {
				memory["memory.limit_in_bytes"] = strconv.FormatInt(c.memory, 10)
			}
			path := group(&servers[i], &containers[j])
			groups["cpu"][path], groups["memory"][path] = cpu, memory
		}
	}
	base.Make(t, groups)
	kept := &record{}
	defer kept.write(t)
	t.Run("programs", func(t *testing.T) {
		for i := range servers {
			s := &servers[i]
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				file := find(t, s)
				for j := range containers {
					t.Run(containers[j].name, func(t *testing.T) {
						kept.add(compare(t, snug, base, group(s, &containers[j]), s, file), s.name, containers[j].name)
					})
				}
			})
		}
	})
}

// compare starts a program in a group, alone and with `snug run`, and compares its knobs with the
// plan made there.
func compare(t *testing.T, snug string, base *cgv1.Base, group string, s *server, file string) result {
	plan := func(args ...string) []byte {
		t.Helper()
		cmd := base.Command(t, group, append([]string{snug, "plan", "--exe", file}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		return out
	}
	var p planned
	if err := json.Unmarshal(plan("--json"), &p); err != nil {
		t.Fatal(err)
	}
	if p.Runtime.GOMAXPROCS == nil {
		t.Fatal("the plan has no GOMAXPROCS for Go by itself")
	}
	p.checkText(t, string(plan()))
	if found := p.Runtime.Automemlimit; found != s.automemlimit {
		t.Errorf("the plan finds automemlimit: %v", found)
	}
	if sets := strings.Join(p.Program.Sets, " "); sets != s.sets {
		t.Errorf("the plan finds GOMAXPROCS set by %q, want %q", sets, s.sets)
	}

	use := func(t *testing.T, args ...string) used { return s.use(t, snug, base, group, append(args, file)) }
	var itself, fitted used
	alone := t.Run("alone", func(t *testing.T) {
		u := use(t)
		itself = u
		says := *p.Runtime.GOMAXPROCS
		if s.automaxprocs && p.Runtime.Automaxprocs != nil {
			says = *p.Runtime.Automaxprocs
		}
		t.Logf("%s: GOMAXPROCS %d, the plan says %d; GOMEMLIMIT %d", p.Runtime.Go, u.procs, says, u.memory)
		if u.procs != says && s.sets == "" { // otherwise the plan says that it may differ
			t.Errorf("by itself it uses GOMAXPROCS=%d, the plan says %d", u.procs, says)
		}
		if u.memory != 0 != p.Runtime.Automemlimit {
			t.Errorf("by itself it uses GOMEMLIMIT=%d, the plan expects automemlimit: %v", u.memory, p.Runtime.Automemlimit)
		}
	})
	run := t.Run("run", func(t *testing.T) {
		u := use(t, snug, "run", "--")
		fitted = u
		want := itself // knobs that the plan leaves alone stay as they were
		if n := p.GOMAXPROCS.Value; n != nil {
			want.procs = *n
		}
		if n := p.GOMEMLIMIT.Value; n != nil {
			want.memory = *n
		}
		t.Logf("%s: GOMAXPROCS %d, GOMEMLIMIT %d; the plan wants %d, %d", p.Runtime.Go, u.procs, u.memory, want.procs, want.memory)
		if u != want {
			t.Errorf("with snug run it uses %+v, the plan wants %+v", u, want)
		}
	})
	if !alone || !run {
		t.Logf("%s", strings.TrimSpace(string(plan())))
	}
	return result{p, itself, fitted}
}

// used holds the knobs of a running program.
type used struct {
	procs  int
	memory int64 // 0 = none
}

// use starts the program and reads its knobs from its runtime, from the program if it reports them,
// and with snug ps. They must agree.
func (s *server) use(t *testing.T, snug string, base *cgv1.Base, group string, command []string) used {
	t.Helper()
	dir, address := t.TempDir(), free(t)
	r := startIn(t, base, group, append(command, s.args(t, dir, address)...)...)
	own := map[string]string{}
	until(t, s.name+"'s own word", func() (err error) {
		if err := r.ended(); err != nil {
			t.Fatal(err)
		}
		own, err = s.own(r, dir, address)
		return err
	})
	var u used
	// A program may report a new GOMAXPROCS before the runtime has stopped the world to set it.
	until(t, "its own word from the runtime", func() error {
		u.procs = r.procs()
		if text, ok := own["GOMAXPROCS"]; ok && text != strconv.Itoa(u.procs) {
			return fmt.Errorf("it reports GOMAXPROCS=%s, its runtime %d", text, u.procs)
		}
		return nil
	})
	var seen process
	until(t, "snug ps", func() error {
		var out []byte
		var err error
		// The owner of a knob is not always known before Go 1.25.
		if seen, out, err = look(snug, r.pid); err == nil && (seen.Procs == nil || seen.GOGC == nil) {
			err = fmt.Errorf("unknown figures: %s", out)
		}
		return err
	})
	if *seen.Procs != u.procs {
		t.Errorf("snug ps reports GOMAXPROCS=%d, its runtime %d", *seen.Procs, u.procs)
	}
	if seen.GOMEMLIMIT != nil {
		u.memory = *seen.GOMEMLIMIT
	}
	if text, ok := own["GOMEMLIMIT"]; ok {
		switch n, err := strconv.ParseFloat(text, 64); {
		case err != nil:
			t.Errorf("it reports GOMEMLIMIT=%s", text)
		case n >= 1<<63 && u.memory == 0: // none
		case int64(n) != u.memory:
			t.Errorf("it reports GOMEMLIMIT=%s, snug ps %d", text, u.memory)
		}
	}
	return u
}
