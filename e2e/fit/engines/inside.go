// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/fit/engines/wire"
)

// inside is a container with a running inmate that answers requests.
type inside struct {
	token string
	in    io.WriteCloser
	lines chan []byte // of its output; closed at the end
	said  bytes.Buffer
	ended chan error
}

// start runs a command line that becomes inmate in a container until the test ends. Engines leave
// files in dir.
func start(t *testing.T, dir, token string, line []string) *inside {
	t.Helper()
	c := &inside{token: token, lines: make(chan []byte), ended: make(chan error, 1)}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr, cmd.Dir = &c.said, dir
	cmd.WaitDelay = 10 * time.Second
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	go func() {
		defer r.Close()
		defer close(c.lines)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	go func() { c.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		c.in.Close()
		go func() {
			for range c.lines {
			}
		}()
		select {
		case err = <-c.ended:
		case <-time.After(hang):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			err = errors.Join(errors.New("killed because it did not end"), <-c.ended)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(line, " "), err, &c.said)
		} else if t.Failed() {
			t.Logf("%s\n%s", strings.Join(line, " "), &c.said)
		}
	})
	c.receive(t)
	return c
}

// receive waits for an answer.
func (c *inside) receive(t *testing.T) (a wire.Answer) {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatalf("the container has ended")
		}
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if a.Error != "" {
			t.Fatal(a.Error)
		}
	case <-time.After(hang):
		t.Fatalf("no answer after %v", hang)
	}
	return a
}

func (c *inside) ask(t *testing.T, q wire.Request) wire.Answer {
	t.Helper()
	if err := json.NewEncoder(c.in).Encode(q); err != nil {
		t.Fatal(err)
	}
	return c.receive(t)
}

// pid returns inmate's process id on the machine.
func (c *inside) pid(t *testing.T) int {
	t.Helper()
	pid, err := wire.Pid(c.token)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// once runs a command line until it ends.
func once(line []string) wire.Run {
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	r := wire.Run{}
	if err := cmd.Run(); err != nil {
		r.Error = fmt.Sprint(err)
	}
	r.Stdout, r.Stderr = stdout.String(), stderr.String()
	return r
}
