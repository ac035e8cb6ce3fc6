// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// LookPath finds the file of a command as execvp(3) does: a name without a
// slash is looked up in PATH of env (nil: this process's), relative to directory dir
// ("": the current one). The error is an *ExecError with code 127 if there is no such
// file, 126 if it may not be executed.
func LookPath(name string, env []string, dir string) (string, error) {
	usable := func(file string) error {
		at := file
		if !path.IsAbs(at) {
			at = path.Join(dir, at)
		}
		var st unix.Stat_t
		err := unix.Stat(at, &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return unix.EISDIR
		}
		if err == nil {
			err = unix.Faccessat(unix.AT_FDCWD, at, unix.X_OK, unix.AT_EACCESS)
		}
		if err == unix.EPERM || err == unix.ENOSYS {
			// A sandbox refuses these calls: execve(2) decides whether it can be executed.
			var fd int
			if fd, err = unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
				err = unix.Close(fd)
			}
		}
		return err
	}
	if strings.Contains(name, "/") {
		if err := usable(name); err != nil {
			return "", execError(name, err)
		}
		return name, nil
	}
	if env == nil {
		env = os.Environ()
	}
	search := "/usr/local/bin:/usr/bin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	var found error = unix.ENOENT
	for elem := range strings.SplitSeq(search, ":") {
		if elem == "" {
			elem = "."
		}
		file := elem + "/" + name
		err := usable(file)
		if err == nil {
			return file, nil
		}
		if err != unix.ENOENT && err != unix.ENOTDIR && err != unix.EISDIR {
			found = err
		}
	}
	return "", execError(name, found)
}

// execError returns the *ExecError of a name, with the code that a shell would return.
func execError(name string, err error) error {
	code := CodeCannotExec
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		code = CodeNotFound
	}
	return &ExecError{Name: name, Code: code, Err: err}
}
