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
	// journal records the changes of the node. A machine can be only one node at a time.
	journal = "/run/snug-node.json"
	// lockFile is locked by the test that makes the machine a node, until the machine is restored.
	lockFile = "/run/snug-node.lock"
	// guardVariable makes this program a guard. lockVariable marks the child of the process that
	// holds the lock. Both have the lock as descriptor 3.
	guardVariable, lockVariable = "SNUG_NODE_GUARD", "SNUG_NODE_LOCK"
)

// Guard must be the first call of a program that starts nodes, before its tests run. The program
// starts a copy of itself for each node. When the first process has ended, for whatever reason, the
// copy undoes the node's changes to the machine.
func Guard() {
	if os.Getenv(guardVariable) == "" {
		return
	}
	// A guard must outlive the signals that end the tests, and readers of its output that have
	// ended.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	_, _ = io.Copy(io.Discard, os.Stdin)
	code := 0
	if err := undoJournal(); err != nil {
		code = 1
		fmt.Println(err)
	}
	os.Exit(code)
}

// lockMachine locks the machine for this test and its guards, and undoes what an earlier node has left.
func lockMachine(t testing.TB) *os.File {
	t.Helper()
	if os.Getenv(lockVariable) != "" {
		syscall.CloseOnExec(3) // only guards get the lock
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
		t.Fatalf("undo the changes of an earlier node: %v", err)
	}
	return lock
}

// guarded writes the journal and starts a guard. The guard undoes the changes when the test has
// ended, and holds the lock until then.
func guarded(t testing.TB, lock *os.File, c *changes) error {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// Written atomically.
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
			t.Errorf("the machine is not restored: %v\n%s", err, text)
		}
	})
	return nil
}

// undoJournal undoes the changes in the journal, if there is one, and removes it when all are
// undone.
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
