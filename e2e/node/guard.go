// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

const (
	// journal is where the changes of the one node that a machine can be are written
	// down. Its guard holds a lock on it.
	journal = "/run/snug-node.json"
	// guardVariable makes this program a guard.
	guardVariable = "SNUG_NODE_GUARD"
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
	if err := undoJournal(os.NewFile(3, journal)); err != nil {
		code = 1
		fmt.Println(err)
	}
	os.Exit(code)
}

// guarded writes changes down and starts a guard, which undoes them when the test has
// ended. What an earlier node has left is undone first.
func guarded(t testing.TB, plan func() (*changes, error)) (*changes, error) {
	t.Helper()
	file, err := os.OpenFile(journal, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("this machine is a node already, %s: %w", journal, err)
	}
	if err := undoJournal(file); err != nil {
		return nil, fmt.Errorf("undo what an earlier node has left: %w", err)
	}
	c, err := plan()
	if err != nil {
		return nil, err
	}
	// The file that was opened first is gone; the lock has to be on the one that is there.
	own, err := os.OpenFile(journal, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	if err := syscall.Flock(int(own.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(own).Encode(c); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), guardVariable+"=1")
	cmd.ExtraFiles = []*os.File{own}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		alive.Close()
		text, _ := io.ReadAll(said)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the machine is not what it was: %v\n%s", err, text)
		}
	})
	return c, nil
}

// undoJournal undoes the changes that are written down, and removes the journal when all
// of them are undone.
func undoJournal(file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var c changes
	err := json.NewDecoder(file).Decode(&c)
	if err == nil {
		err = c.undo()
	}
	if err != nil && !errors.Is(err, io.EOF) { // an empty one is of who came no further
		return err
	}
	return os.Remove(journal)
}
