// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// child is the variable that makes this program a child of a test, and says what it does.
const child = "OUTFILE_TEST_CHILD"

func TestMain(m *testing.M) {
	what, args, _ := strings.Cut(os.Getenv(child), " ")
	var err error
	switch what {
	case "":
		os.Exit(m.Run())
	case "replace": // FILE TEXT
		name, text, _ := strings.Cut(args, " ")
		err = Replace(name, []byte(text))
	case "chroot": // DIR
		if err = errors.Join(syscall.Chroot(args), os.Chdir("/")); err == nil {
			err = errors.Join(Replace("new", []byte("text")), Replace("old", []byte("text")))
		}
	case "together": // DIR NAME
		dir, name, _ := strings.Cut(args, " ")
		err = errors.Join(syscall.Chroot(dir), os.Chdir("/"))
		for i := 0; i < 200 && err == nil; i++ {
			text := strings.Repeat(name, 20000+i)
			err = Replace(name, []byte(text))
			if got, _ := os.ReadFile(name); err == nil && string(got) != text {
				err = fmt.Errorf("%s holds %.10q", name, got)
			}
		}
	case "exchange": // DIR: until it is killed
		exchange(args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// asChild returns this program as a child of a test, under another command, if there is one.
func asChild(what string, under ...string) *exec.Cmd {
	args := append(under, "/proc/self/exe")
	if len(under) > 0 {
		args[len(under)] = os.Args[0]
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), child+"="+what)
	return cmd
}

// root skips the test without the word root.
func root(t *testing.T) {
	t.Helper()
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") {
		t.Skip("set SNUG_E2E=root to run as root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root, but this is not root")
	}
}

const nobody = 65534

// write makes a file.
func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode)); err != nil {
		t.Fatal(err)
	}
}

// names returns what a directory has.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name   string
		links  []string // NAME TARGET
		file   string   // replaced
		target string   // what then has the new text; "" for an error
		mode   fs.FileMode
	}{
		{"a new file", nil, "new", "new", 0o644},
		{"an old file", nil, "old", "old", 0o640},
		{"of another directory", nil, "sub/../sub/deep", "sub/deep", 0o600},
		{"above", nil, "sub/../old", "old", 0o640},
		{"with slashes", nil, ".//sub///deep", "sub/deep", 0o600},
		{"a link", []string{"l old"}, "l", "old", 0o640},
		{"a link to a link", []string{"l m", "m sub/n", "sub/n ../old"}, "l", "old", 0o640},
		{"a link to a directory", []string{"l sub"}, "l/deep", "sub/deep", 0o600},
		{"an absolute link", []string{"l /DIR/sub"}, "l/deep", "sub/deep", 0o600},
		{"a link to a missing file", []string{"l sub/new"}, "l", "sub/new", 0o644},
		{"a link to a device", []string{"l /dev/null"}, "l", "/dev/null", fs.ModeDevice | fs.ModeCharDevice | 0o666},
		{"a link to an open file", []string{"l /proc/self/fd/FD"}, "l", "open", 0o600},
		{"a link to a link to an open file", []string{"l /dev/fd/FD"}, "l", "open", 0o600},
		{"a circle", []string{"l m", "m l"}, "l", "", 0},
		{"a directory", nil, "sub", "", 0},
		{"a directory's name", nil, "sub/", "", 0},
		{"a file as a directory", nil, "old/", "", 0},
		{"below a file", nil, "old/new", "", 0},
		{"in no directory", nil, "none/new", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir+"/old", "old", 0o640)
			write(t, dir+"/sub/deep", "old", 0o600)
			write(t, dir+"/open", "old", 0o600)
			open, err := os.OpenFile(dir+"/open", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
			for _, l := range c.links {
				from, to, _ := strings.Cut(l, " ")
				to = strings.NewReplacer("FD", strconv.Itoa(int(open.Fd())), "/DIR", dir).Replace(to)
				if err := os.Symlink(to, dir+"/"+from); err != nil {
					t.Fatal(err)
				}
			}
			before := names(t, dir)
			err = Replace(dir+"/"+c.file, []byte("new text"))
			if after := len(names(t, dir)); (err == nil) != (c.target != "") || after != len(before) && c.file != "new" || after > len(before)+1 {
				t.Fatalf("%v; before %q, after %q", err, before, names(t, dir))
			}
			if c.target == "" {
				return
			}
			if !filepath.IsAbs(c.target) {
				c.target = dir + "/" + c.target
			}
			info, err := os.Lstat(c.target)
			if err != nil || info.Mode() != c.mode {
				t.Fatalf("%v, %v; want mode %v", info, err, c.mode)
			}
			want := "new text"
			if filepath.Base(c.target) == "open" { // what it holds stays
				want = "old" + want
			}
			if text, _ := os.ReadFile(c.target); info.Mode().IsRegular() && string(text) != want {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestOwner: root's replacing a user's file leaves it the user's.
func TestOwner(t *testing.T) {
	root(t)
	name := t.TempDir() + "/file"
	write(t, name, "old", 0o604)
	if err := errors.Join(os.Chown(name, nobody, nobody-1), Replace(name, []byte("new"))); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if s := info.Sys().(*syscall.Stat_t); err != nil || s.Uid != nobody || s.Gid != nobody-1 || info.Mode() != 0o604 {
		t.Errorf("%v, %d, %d, %v", info.Mode(), s.Uid, s.Gid, err)
	}
}

// TestUmask: a new file has no permission that the umask takes.
func TestUmask(t *testing.T) {
	name := t.TempDir() + "/new"
	cmd := exec.Command("sh", "-c", "umask 077 && exec "+os.Args[0])
	cmd.Env = append(os.Environ(), child+"=replace "+name+" text")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestChecked: the old file is judged and replaced by one descriptor.
func TestChecked(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		meanwhile func(file string) error // in check
		fails     error
		want      string
	}{
		"the same":          {nil, nil, "new"},
		"refused":           {func(string) error { return bad }, bad, "old"},
		"another file":      {func(file string) error { return os.Rename(file+".b", file) }, bad, "other"},
		"a link":            {func(file string) error { return errors.Join(os.Remove(file), os.Symlink(file+".b", file)) }, bad, "other"},
		"it is gone":        {os.Remove, fs.ErrNotExist, ""},
		"written, the same": {func(file string) error { return os.WriteFile(file, []byte("older"), 0o600) }, nil, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			file := t.TempDir() + "/file"
			write(t, file, "old", 0o600)
			write(t, file+".b", "other", 0o600)
			tries := 0
			err := ReplaceChecked(file, []byte("new"), func(old *os.File) error {
				text := make([]byte, 9)
				n, _ := old.Read(text)
				if tries++; tries > 1 || string(text[:n]) != "old" {
					return bad
				}
				if c.meanwhile != nil {
					return c.meanwhile(file)
				}
				return nil
			})
			if text, _ := os.ReadFile(file); err != c.fails && !errors.Is(err, c.fails) || string(text) != c.want {
				t.Errorf("%v, %q, want %v, %q", err, text, c.fails, c.want)
			}
			if all := names(t, filepath.Dir(file)); len(all) > 2 {
				t.Errorf("%q", all)
			}
		})
	}
	if err := ReplaceChecked(t.TempDir()+"/none", nil, func(*os.File) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestLeft: what a killed process left is removed, and nothing else.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	file, left := dir+"/file", dir+"/.snug-0.tmp"
	for name, c := range map[string]struct {
		make  func() error
		stays bool
	}{
		"left":           {func() error { return os.WriteFile(left, nil, 0o600) }, false},
		"a link":         {func() error { return os.Symlink("file", left) }, true},
		"a hard link":    {func() error { return os.Link(file, left) }, true},
		"a directory":    {func() error { return os.Mkdir(left, 0o700) }, true},
		"a pipe":         {func() error { return syscall.Mkfifo(left, 0o600) }, true},
		"in use by snug": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, file, "old", 0o600)
			if c.make == nil {
				f, err := os.Create(left)
				if err != nil || unix.Flock(int(f.Fd()), unix.LOCK_EX) != nil {
					t.Fatal(err)
				}
				defer f.Close()
			} else if err := c.make(); err != nil {
				t.Fatal(err)
			}
			if err := Replace(file, []byte("new")); err != nil {
				t.Fatal(err)
			}
			all := names(t, dir)
			if text, _ := os.ReadFile(file); string(text) != "new" || (len(all) == 2) != c.stays || len(all) > 2 {
				t.Errorf("%q, %q", text, all)
			}
			os.Remove(left)
		})
	}
}

// TestTaken: a file is replaced, and a new one made, even if all names that can be guessed are taken.
func TestTaken(t *testing.T) {
	dir := t.TempDir()
	for i := range int64(200) {
		for _, base := range []int{10, 36} {
			if err := os.MkdirAll(dir+"/.snug-"+strconv.FormatInt(i, base)+".tmp", 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := len(names(t, dir))
	for _, text := range []string{"old", "new"} {
		err := Replace(dir+"/file", []byte(text))
		if got, _ := os.ReadFile(dir + "/file"); err != nil || string(got) != text || len(names(t, dir)) != before+1 {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
}

// TestPipe: a pipe is written to while it has a reader, and nothing waits for one.
func TestPipe(t *testing.T) {
	name := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	var f *message.Failure
	if err := Save(name, nil); !errors.As(err, &f) || !strings.Contains(f.What, errUnread.Error()) || !strings.Contains(f.Hint, "reader") {
		t.Errorf("%v, want %v", err, errUnread)
	}
	reader, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	text, got, done := bytes.Repeat([]byte("text"), 1<<18), make([]byte, 4<<18), make(chan error)
	go func() {
		_, err := io.ReadFull(reader, got)
		done <- err
	}()
	if err := errors.Join(Save(name, text), <-done); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%v, the text arrived = %t", err, bytes.Equal(got, text))
	}
}

// TestForeignLinks: what the kernel refuses with fs.protected_symlinks, protected_fifos and protected_regular=1 is refused here
// in any case.
func TestForeignLinks(t *testing.T) {
	root(t)
	for _, c := range []struct {
		name       string
		mode       fs.FileMode
		dir, link  int // owners
		file       string
		permission bool
	}{
		{"of another user", 0o777 | fs.ModeSticky, 0, nobody, "l", false},
		{"in the middle", 0o777 | fs.ModeSticky, 0, nobody, "d/secret", false},
		{"to nothing", 0o777 | fs.ModeSticky, 0, nobody, "n", false},
		{"of one's own", 0o777 | fs.ModeSticky, 0, 0, "l", true},
		{"of the directory's owner", 0o777 | fs.ModeSticky, nobody, nobody, "l", true},
		{"a pipe", 0o777 | fs.ModeSticky, 0, nobody, "p", false},
		{"one's own pipe", 0o777 | fs.ModeSticky, 0, 0, "p", true},
		{"a pipe, not sticky", 0o777, 0, nobody, "p", true},
		{"a file", 0o777 | fs.ModeSticky, 0, nobody, "f", false},
		{"one's own file", 0o777 | fs.ModeSticky, 0, 0, "f", true},
		{"a file of the directory's owner", 0o777 | fs.ModeSticky, nobody, nobody, "f", true},
		{"a file, not sticky", 0o777, 0, nobody, "f", true},
		{"not sticky", 0o777, 0, nobody, "l", true},
		{"not for everybody", 0o770 | fs.ModeSticky, 0, nobody, "l", true},
	} {
		for how, write := range map[string]func(string) error{
			"Replace":  func(name string) error { return Replace(name, []byte("new")) },
			"Open":     func(name string) error { return also(Open(name, os.O_RDWR|os.O_CREATE)) },
			"Writable": func(name string) error { return Writable("-o", name) },
		} {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				dir := t.TempDir()
				private, shared := dir+"/private", dir+"/shared"
				if err := errors.Join(os.Mkdir(private, 0o700), os.WriteFile(private+"/secret", []byte("old"), 0o600), os.Mkdir(shared, 0o700),
					os.Symlink("../private/secret", shared+"/l"), os.Symlink("../private", shared+"/d"), os.Symlink("../private/none", shared+"/n"),
					os.WriteFile(shared+"/f", []byte("old"), 0o600), syscall.Mkfifo(shared+"/p", 0o600), os.Chown(shared, c.dir, c.dir), os.Chmod(shared, c.mode)); err != nil {
					t.Fatal(err)
				}
				for _, l := range []string{"/l", "/d", "/n", "/f", "/p"} {
					if err := os.Lchown(shared+l, c.link, c.link); err != nil {
						t.Fatal(err)
					}
				}
				reader, err := os.OpenFile(shared+"/p", os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
				err = write(shared + "/" + c.file)
				if (err == nil) != c.permission || err != nil && !strings.Contains(err.Error(), "of another user") {
					t.Errorf("%v, want permission = %t", err, c.permission)
				}
				if all := names(t, private); !c.permission && len(all) != 1 {
					t.Errorf("%q", all)
				}
			})
		}
	}
}

func also(f *os.File, err error) error {
	f.Close()
	return err
}

// TestWithoutProc: a file without a name could not be given one.
func TestWithoutProc(t *testing.T) {
	root(t)
	dir := t.TempDir()
	write(t, dir+"/old", "old", 0o640)
	write(t, dir+"/.snug-0.tmp", "left", 0o600)
	if out, err := asChild("chroot " + dir).CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	for name, mode := range map[string]fs.FileMode{"new": 0o644, "old": 0o640} {
		info, err := os.Stat(dir + "/" + name)
		if text, _ := os.ReadFile(dir + "/" + name); err != nil || info.Mode() != mode || string(text) != "text" {
			t.Errorf("%s: %v, %v, %q", name, info, err, text)
		}
	}
	if all := names(t, dir); len(all) != 2 {
		t.Errorf("%q", all)
	}
}

// TestTogether: where files have no name at first, several that replace files of one directory at the same moment
// take no file of each other.
func TestTogether(t *testing.T) {
	root(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if out, err := asChild(fmt.Sprintf("together %s file%d", dir, i)).CombinedOutput(); err != nil {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
	all.Wait()
	if all := names(t, dir); len(all) != 4 {
		t.Errorf("%q", all)
	}
}

// TestOpenFile: what an open file holds stays, whatever name stands for it.
func TestOpenFile(t *testing.T) {
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/fd/3"} {
		for _, flag := range []int{os.O_APPEND, 0} {
			file := filepath.Join(t.TempDir(), "out")
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|flag, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString("first ")
			cmd := asChild("replace " + name + " text")
			cmd.Stdout, cmd.ExtraFiles = out, []*os.File{out}
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			out.Close()
			if got, _ := os.ReadFile(file); string(got) != "first text" {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}

// exchange puts a file of its own and a link by turns in place of DIR/file.
func exchange(dir string) {
	for {
		_ = os.WriteFile(dir+"/mine", nil, 0o666) // without data: ext4 would write it to the disk
		_ = os.Chmod(dir+"/mine", 0o666)
		_ = os.Rename(dir+"/mine", dir+"/file")
		_ = os.Symlink("../private/secret", dir+"/link")
		_ = os.Rename(dir+"/link", dir+"/file")
	}
}

// TestExchanged: an unprivileged user who owns a file in a sticky directory, and exchanges it with a link
// while root replaces it, turns root against no file of root's.
func TestExchanged(t *testing.T) {
	root(t)
	dir := t.TempDir()
	private, shared := dir+"/private", dir+"/shared"
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Mkdir(private, 0o700), os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777|fs.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	write(t, private+"/secret", "secret", 0o600)
	cmd := asChild("exchange " + shared)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for _, err := os.Lstat(shared + "/file"); err != nil; _, err = os.Lstat(shared + "/file") {
		time.Sleep(time.Millisecond)
	}
	counts := map[string]int{}
	// Until each of the two was met often, however busy the machine is.
	for counts[errForeign("file").Error()] < 50 || counts[errForeign("link").Error()] < 50 {
		err := Replace(shared+"/file", []byte("text of root"))
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		if err == nil {
			t.Fatalf("written after %v", counts)
		}
		counts[err.Error()]++
		info, err := os.Stat(private + "/secret")
		text, err2 := os.ReadFile(private + "/secret")
		if err := errors.Join(err, err2); err != nil || info.Mode() != 0o600 || string(text) != "secret" || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Fatalf("after %v: %v, %v, %q", counts, info, err, text)
		}
		if counts["exit"]++; counts["exit"] > 1e6 {
			t.Fatalf("%v, %s", counts, &said)
		}
	}
	t.Log(counts)
}

// TestKilled: whenever the process is killed, the file is whole, and at most one new file, whole too, is
// left, which the next process removes.
func TestKilled(t *testing.T) {
	root(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is missing: see e2e/packages.txt")
	}
	dir := t.TempDir()
	file := dir + "/file"
	moments, left := 0, map[string]int{}
	for _, call := range []string{"openat", "fstat", "newfstatat", "write", "fchown", "fchmod", "fsync", "flock", "access,faccessat,faccessat2", "linkat", "renameat,renameat2", "close"} {
		for n, old, new := 1, "first", "second"; ; n++ {
			write(t, file, old, 0o640)
			cmd := asChild("replace "+file+" "+new, strace, "-f", "-qq", "-o", os.DevNull, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))
			out, err := cmd.CombinedOutput()
			text, err2 := os.ReadFile(file)
			if err2 != nil || string(text) != old && string(text) != new {
				t.Fatalf("%s %d: %q, %v", call, n, text, err2)
			}
			all := names(t, dir)
			if len(all) > 1 {
				left[call]++
				if text, err := os.ReadFile(dir + "/.snug-0.tmp"); len(all) != 2 || err != nil || string(text) != new {
					t.Fatalf("%s %d: %q, %q, %v", call, n, all, text, err)
				}
			}
			if err := Replace(file, []byte("next")); err != nil || len(names(t, dir)) != 1 {
				t.Fatalf("%s %d: %v, %q", call, n, err, names(t, dir))
			}
			if err == nil && string(text) == new {
				break // there was no such call
			}
			if code := cmd.ProcessState; code.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("%s %d: %v, %s", call, n, code, out)
			}
			moments++
		}
	}
	t.Logf("%d moments, %v", moments, left)
	if moments < 10 || len(left) != 1 || left["renameat,renameat2"] != 1 {
		t.Errorf("killed at %d moments, left %v", moments, left)
	}
}
