// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
)

func TestMain(m *testing.M) {
	Guard()
	os.Exit(m.Run())
}

// machine returns the changes that a node started now would have to undo.
func machine(t *testing.T) *changes {
	t.Helper()
	c, err := before("none", addresses)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNode: a pod runs, and afterwards nothing of the node is left.
func TestNode(t *testing.T) {
	gate.Root(t, "node")
	lock := lockMachine(t)
	was := machine(t)
	var n *Node
	t.Run("a node", func(t *testing.T) {
		n = Start(t, lock, nil)
		a := n.Create(t, "/api/v1/namespaces/default/pods", `
metadata: {name: a}
spec: {containers: [{name: a, image: "localhost/pause:1", resources: {limits: {cpu: 1, memory: 64Mi}}}]}
`)
		if !a.OK() {
			t.Fatal(a.Message())
		}
		n.Wait(t, "the pod runs", func() bool {
			var pod struct{ Status struct{ Phase string } }
			return n.Read("/api/v1/namespaces/default/pods/a", &pod) == nil && pod.Status.Phase == "Running"
		})
	})
	checkRestored(t, was)
	for _, p := range n.beside {
		if p.Ended() == nil {
			t.Errorf("%s still runs", p.Name)
		}
	}
	if _, err := os.Stat(n.dir); !os.IsNotExist(err) {
		t.Errorf("the node's directory still exists, %v", err)
	}
}

// TestKilled: nothing of a node is left when its test is killed.
func TestKilled(t *testing.T) {
	gate.Root(t, "node")
	lock := lockMachine(t)
	was := machine(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNode$")
	// The killed test's leftovers in TMPDIR are removed with this test.
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), lockVariable+"=1")
	cmd.ExtraFiles = []*os.File{lock}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// Wait until its pod is about to start.
	for len(groupsOfPods()) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("the test ended, %v\n%s", err, &said)
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	for end := time.Now().Add(deadline); ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(journal); os.IsNotExist(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s still exists", journal)
		}
	}
	checkRestored(t, was)
}

func checkRestored(t *testing.T, was *changes) {
	t.Helper()
	if is := machine(t); !reflect.DeepEqual(is, was) {
		t.Errorf("the machine is %+v, want %+v", is, was)
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("/snug-node-")) {
		t.Errorf("still mounted:\n%s", text)
	}
}
