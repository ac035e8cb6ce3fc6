// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

func situations(t *testing.T) []*fixture.Situation {
	t.Helper()
	all, err := fixture.LoadAll(os.DirFS("../../../../../testdata/situations"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// collected is what Situation saves, written out and read again.
func collected(t *testing.T, s *fixture.Situation, raw bool) (text []byte, l limits.Limits) {
	t.Helper()
	saved, err := Situation(s.FS, 0, raw)
	if err != nil {
		t.Fatal(err)
	}
	text = fixture.Format(saved)
	again, err := fixture.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if form := fixture.Format(again); !bytes.Equal(form, text) {
		t.Errorf("not in its one form: %s", text)
	}
	if l, err = limits.Read(limits.Process{FS: again.FS}); err != nil {
		t.Fatal(err)
	}
	if got := plan.Summary(&l, plan.Decide(&plan.Input{Limits: l})); !bytes.Equal(got, again.Want) {
		t.Errorf("want is not what reading gives:\n%s", again.Want)
	}
	return text, l
}

func TestRawReplaysTheSame(t *testing.T) {
	for _, s := range situations(t) {
		t.Run(s.Name, func(t *testing.T) {
			want, err := limits.Read(limits.Process{FS: s.FS})
			if err != nil {
				t.Fatal(err)
			}
			text, got := collected(t, s, true)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read\n%+v\nwant\n%+v\nfrom\n%s", got, want, text)
			}
		})
	}
}

func TestScrubbedReplaysTheSameNumbers(t *testing.T) {
	for _, s := range situations(t) {
		t.Run(s.Name, func(t *testing.T) {
			want, err := limits.Read(limits.Process{FS: s.FS})
			if err != nil {
				t.Fatal(err)
			}
			text, got := collected(t, s, false)
			before, after := nameless(&want), nameless(&got)
			if before != after {
				t.Errorf("read\n%s\nwant\n%s\nfrom\n%s", after, before, text)
			}
		})
	}
}

var (
	sourceDir = regexp.MustCompile(`(?m)^(\S+\.source )\S*/`)
)

// nameless returns what was read and decided, without the names of directories.
func nameless(l *limits.Limits) string {
	summary := string(plan.Summary(l, plan.Decide(&plan.Input{Limits: *l})))
	var b strings.Builder
	b.WriteString(sourceDir.ReplaceAllString(summary, "$1"))
	for _, level := range l.CPU.Levels {
		cores, ok := level.GoQuota.Get()
		b.WriteString(path.Base(level.File) + " " + strings.Repeat("/", strings.Count(level.Level, "/")))
		if ok {
			b.WriteString(" seen by Go")
		}
		if level.CrashesGo || cores < 0 {
			b.WriteString(" crashes Go")
		}
		b.WriteByte('\n')
	}
	for _, g := range l.Gaps {
		why, _, _ := strings.Cut(g.Why, ":")
		why, _, _ = strings.Cut(why, "/")
		b.WriteString(g.Field + " " + why + "\n")
	}
	return b.String()
}

// TestScrubbedHasNoNames searches the output for every component of the situation's paths and
// every value of an option.
func TestScrubbedHasNoNames(t *testing.T) {
	checked := 0
	for _, s := range situations(t) {
		text, _ := collected(t, s, false)
		written := map[string]bool{}
		for _, word := range tokens(string(text)) {
			written[word] = true
		}
		for _, file := range []string{"proc/self/cgroup", "proc/self/mountinfo"} {
			original, _ := s.FS.ReadFile(file)
			for _, word := range tokens(string(original)) {
				if len(word) < 4 || common[word] || public[word] || number.MatchString(word) {
					continue
				}
				checked++
				if written[word] {
					t.Errorf("%s: %q of %s is in the output", s.Name, word, file)
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d names looked for", checked)
	}
}

// tokens cuts a text at everything that separates names.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n/:,=", r) })
}

// public are the kernel's own words: file systems, flags, figures.
var public = words(`meminfo lxcfs fuse.lxcfs proc sysfs tmpfs overlay cgroup2 devpts mqueue ext4 fuse debugfs devtmpfs securityfs pstore autofs
	hugetlbfs vfat bpf tracefs configfs efivarfs fusectl binfmt_misc nosuid nodev noexec relatime noatime
	nsdelegate memory_recursiveprot name shared master cache clone_children xattr release_agent (deleted) favordynmods
	none meminfo dirsync unbindable propagate_from`)

func TestLiveReplaysTheSame(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := Situation(nil, 0, false); !errors.Is(err, limits.ErrNotSupported) {
			t.Errorf("error %v, want %v", err, limits.ErrNotSupported)
		}
		return
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		child.Process.Kill()
		child.Wait()
	}()
	for _, pid := range []int{0, os.Getpid(), child.Process.Pid} {
		live, err := limits.Read(limits.Process{PID: pid})
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []bool{true, false} {
			saved, err := Situation(nil, pid, raw)
			if err != nil {
				t.Fatal(err)
			}
			again, err := fixture.Parse(fixture.Format(saved))
			if err != nil {
				t.Fatal(err)
			}
			got, err := limits.Read(limits.Process{FS: again.FS})
			if err != nil {
				t.Fatal(err)
			}
			if a, b := still(nameless(&live)), still(nameless(&got)); a != b {
				t.Errorf("pid %d, raw %v: read\n%s\nwant\n%s", pid, raw, b, a)
			}
		}
	}
}

// still drops the line that changes from one moment to the next.
func still(text string) string {
	return regexp.MustCompile(`(?m)^cpu\.throttled .*\n`).ReplaceAllString(text, "")
}

func TestSecretsStay(t *testing.T) {
	const secret = "hunter2hunter2"
	tree := fixture.NewFS()
	for name, text := range map[string]string{
		"proc/self/environ":                    "TOKEN=" + secret + "\x00",
		"proc/self/cmdline":                    "app\x00--token=" + secret + "\x00",
		"proc/self/status":                     "Name:\t" + secret + "\nCpus_allowed:\tf\n",
		"proc/self/cgroup":                     "0::/" + secret + "/" + secret + " (deleted)\n1:name=" + secret + ":/" + secret + "\n" + secret + "\n",
		"proc/self/mountinfo":                  "30 23 0:26 / /sys/fs/cgroup rw," + secret + "=1 - cgroup2 " + secret + " rw,token=" + secret + "\n31 23 0:27 /" + secret + " /" + secret + " rw - fuse." + secret + " " + secret + " rw,user=" + secret + "\n" + secret + " /" + secret + "\\9 - " + secret + "\n",
		"proc/meminfo":                         "MemTotal: 1024 kB\n" + secret + ": 1\n",
		"sys/fs/cgroup/cpu.max":                secret + "\n",
		"sys/fs/cgroup/" + secret + "/cpu.max": "token " + secret + "\n",
	} {
		if err := tree.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Situation(tree, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := fixture.Format(s); bytes.Contains(text, []byte("hunter")) {
		t.Errorf("secret in\n%s", text)
	}
	raw, err := Situation(tree, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"proc/self/environ", "proc/self/cmdline"} {
		if _, err := raw.FS.Stat(file); err == nil {
			t.Errorf("%s saved", file)
		}
	}
	if status, _ := raw.FS.ReadFile("proc/self/status"); bytes.Contains(status, []byte("Name")) {
		t.Errorf("status saved: %s", status)
	}
}

func TestNoProcess(t *testing.T) {
	tree := fixture.NewFS()
	if err := tree.Set("proc/1/cgroup", "0::/\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := Situation(tree, 7, false); !errors.Is(err, limits.ErrNoProcess) {
		t.Errorf("error %v, want %v", err, limits.ErrNoProcess)
	}
}
