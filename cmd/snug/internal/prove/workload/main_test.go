// SPDX-License-Identifier: Apache-2.0

// As in snug's own main package; the workloads must still get Go's default.

//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

package workload

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
)

func TestMain(m *testing.M) {
	cgrun.ChildMain()
	ChildMain()
	if len(os.Args) == 2 && os.Args[1] == "collect" {
		collect()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// collect makes garbage and says what the runtime counted.
func collect() {
	var live [][]byte
	for range 100_000 {
		live = append(live[:len(live)%100], make([]byte, 1024))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	json.NewEncoder(os.Stdout).Encode(m)
}

// child is this binary as a workload.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr bytes.Buffer
}

// start starts a workload with additional environment variables.
func start(t *testing.T, name string, o Options, env ...string) *child {
	t.Helper()
	return startArgs(t, Args(name, o), env...)
}

func startArgs(t *testing.T, args []string, env ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], args...)}
	c.cmd.Env = append(os.Environ(), "GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG="+Defaults)
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(5*time.Minute, func() { c.cmd.Process.Kill() })
	t.Cleanup(func() {
		stuck.Stop()
		c.cmd.Process.Kill() // an error means that it has ended, as it should
		c.cmd.Wait()
	})
	return c
}

// result runs a self-driven workload through its protocol.
func (c *child) result() *Result {
	c.t.Helper()
	events := ReadEvents(c.stdout)
	c.expect(events, "warm")
	if _, err := io.WriteString(c.stdin, "go\n"); err != nil {
		c.t.Fatal(err)
	}
	return c.expect(events, "done").Result
}

func (c *child) expect(events *Events, word string) Event {
	c.t.Helper()
	e, err := events.Next(word)
	if err != nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		c.t.Fatalf("%v: %v; want %q; stderr: %s", c.cmd.Args[1:], err, word, c.stderr.Bytes())
	}
	return e
}

// end closes stdin, waits for exit code, and returns stderr.
func (c *child) end(code int) string {
	c.t.Helper()
	c.stdin.Close()
	return c.wait(code)
}

func (c *child) wait(code int) string {
	c.t.Helper()
	c.cmd.Wait() // ExitCode says the same as its error
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("%v: exit code %d, want %d; stderr: %s", c.cmd.Args[1:], got, code, c.stderr.Bytes())
	}
	return c.stderr.String()
}

// listening waits for a service and returns its address.
func (c *child) listening() string {
	c.t.Helper()
	return c.expect(ReadEvents(c.stdout), "listening").URL
}
