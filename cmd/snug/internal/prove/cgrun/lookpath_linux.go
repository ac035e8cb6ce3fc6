// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"cmp"
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Files returns the files that execvp(3) tries in turn for a command: its name if that has a slash,
// else the name in each directory of PATH of env (nil: this process's).
func Files(name string, env []string) (files []string) {
	if strings.Contains(name, "/") {
		return []string{name}
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
	for _, elem := range strings.Split(search, ":") {
		files = append(files, cmp.Or(elem, ".")+"/"+name)
	}
	return files
}

// LookPath returns the first of Files that seems to be executable. They are relative to directory dir
// ("": the current one). The error is an *ExecError with code 127 if there is no such file, 126 if
// it may not be executed. As only execve(2) can tell that for sure, the file is then returned too.
func LookPath(name string, env []string, dir string) (string, error) {
	var found error = unix.ENOENT
	denied := ""
	for _, file := range Files(name, env) {
		at := file
		if !path.IsAbs(at) {
			at = path.Join(dir, at)
		}
		var st unix.Stat_t
		err := unix.Stat(at, &st)
		switch {
		case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
			err = unix.EISDIR
		case err == nil:
			if err = unix.Faccessat(unix.AT_FDCWD, at, unix.X_OK, unix.AT_EACCESS); err == unix.EPERM || err == unix.ENOSYS {
				err = nil // a sandbox refuses the call
			}
		case err == unix.EACCES || err == unix.EPERM || err == unix.ENOSYS: // maybe of a sandbox too
			var fd int
			if fd, err = unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
				unix.Close(fd)
			}
		}
		switch {
		case err == nil:
			return file, nil
		case err == unix.EACCES:
			denied = cmp.Or(denied, file)
		case err != unix.ENOENT && err != unix.ENOTDIR && (err != unix.EISDIR || file == name):
			found = err
		}
	}
	if denied != "" {
		found = unix.EACCES
	}
	return denied, execError(name, found)
}

// execError returns the *ExecError of a name, with the code that a shell would return.
func execError(name string, err error) error {
	code := CodeCannotExec
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		code = CodeNotFound
	}
	return &ExecError{Name: name, Code: code, Err: err}
}
