// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

const (
	// journal is where the changes of the one node that a machine can be are written down.
	journal = "/run/snug-node.json"
	// lockFile is locked by who may make the machine a node, until it is none any more.
	lockFile = "/run/snug-node.lock"
	// guardVariable makes this program a guard, and lockVariable says that it is the child of
	// who has the lock. Both have it as their file 3.
	guardVariable, lockVariable = "SNUG_NODE_GUARD", "SNUG_NODE_LOCK"
)

// Guard is to be called first in a program that starts nodes, before its tests run. The
// program starts itself again beside a node, and the copy undoes what the node made of the
// machine when the first one is gone, in whatever way it ended.
func Guard() {
	if os.Getenv(guardVariable) == "" {
		return
	}
	// Who would be told may be gone, and what ended the tests does not end the guard.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	_, _ = io.Copy(io.Discard, os.Stdin)
	code := 0
	if err := undoJournal(); err != nil {
		code = 1
		fmt.Println(err)
	}
	os.Exit(code)
}

// alone waits until no other test makes this machine a node, and keeps others from it until
// the test has ended and its guards too. What an earlier node has left is undone.
func alone(t testing.TB) *os.File {
	t.Helper()
	if os.Getenv(lockVariable) != "" {
		syscall.CloseOnExec(3) // but for guards
		return os.NewFile(3, lockFile)
	}
	lock, err := os.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := undoJournal(); err != nil {
		t.Fatalf("undo what an earlier node has left: %v", err)
	}
	return lock
}

// guarded writes changes down and starts a guard, which undoes them when the test has
// ended, and has the lock as long.
func guarded(t testing.TB, lock *os.File, c *changes) error {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// Whole or not at all.
	if err := os.WriteFile(journal+".new", text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(journal+".new", journal); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), guardVariable+"=1")
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.Cleanup(func() {
		alive.Close()
		text, _ := io.ReadAll(said)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the machine is not what it was: %v\n%s", err, text)
		}
	})
	return nil
}

// undoJournal undoes the changes that are written down, if any are, and removes the journal
// when all of them are undone.
func undoJournal() error {
	text, err := os.ReadFile(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var c changes
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	if err := c.undo(); err != nil {
		return err
	}
	return os.Remove(journal)
}
