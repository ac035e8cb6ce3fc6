// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A Command is a command of the operator beside the measured program: it loads the program
// or prepares it. It runs in this process's cgroup. A process of snug starts it and, at its
// end, ends what it left running: also processes that left its group or session.
type Command struct {
	Shell string   `json:"shell"` // for sh -c
	Env   []string `json:"env"`   // its whole environment
	// RealTime makes the command SCHED_RR; Run fails if that is not possible.
	RealTime bool `json:"real_time"`

	Stdout, Stderr *os.File `json:"-"`
}

// Ended says how a command ended.
type Ended struct {
	Code   int     `json:"code"`   // exit code; 0 if a signal ended it
	Signal int     `json:"signal"` // that ended it; 0 is none
	Wall   float64 `json:"wall"`   // seconds, from its start to its end
	CPU    float64 `json:"cpu"`    // seconds, of the command and all that it started
	Policy string  `json:"policy"` // scheduling policy, as read back before it started
}

// How describes the end in words: "exit code 3", "killed by terminated".
func (e Ended) How() string {
	if e.Signal != 0 {
		return "killed by " + syscall.Signal(e.Signal).String()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// OK reports whether the command succeeded.
func (e Ended) OK() bool { return e.Code == 0 && e.Signal == 0 }

// commandArg makes the load generator a starter of a command.
const commandArg = "command"

// statusFD is the starter's descriptor for how the command ended.
const statusFD = 3

// patience is how long a starter may take to end what its command started.
const patience = 5 * time.Second

// Run runs the command to its end; exe must call ChildMain first in main. When ctx ends,
// or this process, the command gets SIGTERM and, a second later, SIGKILL. Run then returns
// the cause of ctx. The only other errors are of starting it.
func (c Command) Run(ctx context.Context, exe string) (Ended, error) {
	if err := ctx.Err(); err != nil {
		return Ended{}, context.Cause(ctx)
	}
	events, status, err := os.Pipe()
	if err != nil {
		return Ended{}, err
	}
	defer events.Close()
	args := []string{childArg, commandArg}
	if c.RealTime {
		args = append(args, becomeArg)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = environment(os.Environ())
	apart(cmd)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = c.Stdout, c.Stderr, []*os.File{status}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		status.Close()
		return Ended{}, err
	}
	defer stdin.Close()
	err = cmd.Start()
	status.Close()
	if err != nil {
		return Ended{}, &Error{What: fmt.Sprintf("cannot start the command: %v, %s", err, exe)}
	}
	json.NewEncoder(stdin).Encode(c) // if this fails the starter has ended, and says why
	stop := context.AfterFunc(ctx, func() {
		stdin.Close()
		time.AfterFunc(patience, func() { cmd.Process.Kill() })
	})
	defer stop()
	var e event
	said := json.NewDecoder(events).Decode(&e)
	io.Copy(io.Discard, events)
	exit := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Ended{}, context.Cause(ctx)
	case said == nil && e.Event == eventError:
		return Ended{}, &Error{What: e.Error, Cure: e.Hint}
	case said != nil || e.Ended == nil:
		how := "no answer"
		if exit != nil {
			how = exit.Error()
		}
		return Ended{}, &Error{What: "the process that starts the command ended: " + how}
	}
	return *e.Ended, nil
}

// startCommand is the starter. args are those of this process.
func startCommand(args []string) {
	out := json.NewEncoder(os.NewFile(statusFD, "status"))
	end, err := runCommand(args)
	e := event{Event: eventDone, Ended: &end}
	if err != nil {
		e = event{Event: eventError, Error: err.Error()}
		if own, ok := errors.AsType[*Error](err); ok {
			e.Hint = own.Cure
		}
	}
	out.Encode(e)
}

// Variables returns an environment for a command: this process's, without what is meant
// for the measured program, and with these entries NAME=VALUE.
func Variables(entries ...string) []string {
	env := environment(os.Environ())
	for _, e := range entries {
		name, _, _ := strings.Cut(e, "=")
		kept := env[:0]
		for _, old := range env {
			if n, _, _ := strings.Cut(old, "="); n != name {
				kept = append(kept, old)
			}
		}
		env = append(kept, e)
	}
	return env
}
