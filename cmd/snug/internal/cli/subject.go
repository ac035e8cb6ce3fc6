// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// subject is one thing to look at: a process, or a file or address.
type subject struct {
	name string
	pid  int  // 0 = a file or an address
	many bool // one of several that a name stands for
}

// containerID is as container runtimes write it, whole or the first part.
var containerID = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// resolve finds what a name stands for: a process number, an address, a cgroup
// directory, a file, a container's id, a program's name. Files win over programs;
// ./NAME and the number say which is meant.
func resolve(name string) ([]subject, error) {
	if pid := pidOf(name); pid != 0 {
		return []subject{{name: name, pid: pid}}, nil
	}
	if address(name) || name == "-" {
		return []subject{{name: name}}, nil
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() && (strings.ContainsRune(name, '/') || isGroup(name)) {
		return inGroup(name)
	}
	if err == nil && !info.IsDir() && (strings.ContainsRune(name, '/') || info.Mode().Perm()&0o111 == 0) {
		return []subject{{name: name}}, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, failed(reason(err)+", "+typed(name), ownerHint)
	}
	if containerID.MatchString(name) {
		if found, err := inContainer(name); err != nil || len(found) > 0 {
			return found, err
		}
	}
	pids, denied, failure := goProcesses(func(p *proc.Process) bool { return named(p, []string{name}) })
	switch {
	case failure != nil:
		return nil, failure
	case len(pids) > 0:
		return several(name, pids), nil
	case err == nil && info.IsDir():
		return inGroup(name)
	case err == nil:
		return []subject{{name: name}}, nil
	case denied > 0:
		return nil, failed("no such process, file or container, "+typed(name), maybeDenied)
	}
	return nil, failed("no such process, file or container, "+typed(name), "snug ps lists the Go processes here")
}

// address reports whether a name is a URL that can be fetched.
func address(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isGroup reports whether a directory is a cgroup.
func isGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	return err == nil
}

func several(name string, pids []int) []subject {
	var all []subject
	for _, pid := range pids {
		all = append(all, subject{name: name, pid: pid, many: len(pids) > 1})
	}
	return all
}

// inGroup are the Go processes in a cgroup directory and in those below it.
func inGroup(dir string) ([]subject, error) {
	if !isGroup(dir) {
		return nil, failed("a directory that is no cgroup, "+dir, "name a directory below /sys/fs/cgroup, a file, or a process")
	}
	member := map[int]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups come and go
		}
		text, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, line := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(line); err == nil {
				member[n] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, failed(reason(err)+", "+dir, ownerHint)
	}
	pids, _, err := goProcesses(func(p *proc.Process) bool { return member[p.Pid()] })
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, failed("no Go process in the cgroup, "+dir, "snug ps lists the Go processes here")
	}
	return several(dir, pids), nil
}

// inContainer are the Go processes with a container's id in a cgroup's name.
func inContainer(id string) ([]subject, error) {
	pids, _, err := goProcesses(func(p *proc.Process) bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/cgroup")
		return err == nil && slices.ContainsFunc(strings.FieldsFunc(string(text), func(r rune) bool {
			return strings.ContainsRune("/-.:\n", r)
		}), func(word string) bool { return strings.HasPrefix(word, id) })
	})
	if err != nil {
		return nil, err
	}
	return several(id, pids), nil
}
