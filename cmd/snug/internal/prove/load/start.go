// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// Generator is a running load generator. The caller must call Close.
type Generator struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr prefix
	events chan event
	ended  chan struct{} // closed once the process is reaped
	exit   error         // valid after ended
	close  sync.Once
}

// Start starts exe as load generator with the plan; exe must call ChildMain first in
// main. The generator begins with the warm-up. It is killed when ctx ends, and exits if
// this process ends.
func Start(ctx context.Context, exe string, p Plan) (*Generator, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	args := []string{childArg}
	if p.RealTime {
		args = append(args, becomeArg)
	}
	g := &Generator{events: make(chan event, 4), ended: make(chan struct{})}
	g.cmd = exec.CommandContext(ctx, exe, args...)
	g.cmd.Env = environment(os.Environ())
	g.cmd.Stderr = &g.stderr
	var err error
	if g.stdin, err = g.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, &Error{What: fmt.Sprintf("cannot start the load generator %s: %v", exe, err)}
	}
	go func() {
		in := json.NewDecoder(bufio.NewReader(stdout))
		for {
			var e event
			if err := in.Decode(&e); err != nil {
				if err != io.EOF {
					g.cmd.Process.Kill() // it is not a generator
				}
				break
			}
			select {
			case g.events <- e:
			default: // a generator sends at most two events
			}
		}
		io.Copy(io.Discard, stdout)
		g.exit = g.cmd.Wait()
		close(g.ended)
	}()
	// If this fails the generator has ended, and next returns why.
	json.NewEncoder(g.stdin).Encode(p)
	return g, nil
}

// Warm waits for the end of the warm-up. The generator sends nothing between that and Go,
// so that the caller can read counters.
func (g *Generator) Warm(ctx context.Context) error {
	_, err := g.next(ctx, eventWarm)
	return err
}

// Go runs the window, and returns when every request of it has ended. The generator then
// exits.
func (g *Generator) Go(ctx context.Context) (Result, error) {
	io.WriteString(g.stdin, goLine+"\n")
	e, err := g.next(ctx, eventDone)
	if err != nil {
		return Result{}, err
	}
	if e.Result == nil {
		return Result{}, &Error{What: "the load generator gave no result"}
	}
	return *e.Result, nil
}

// Close kills the generator if it runs, and waits for its end. It may be called more than
// once, and on nil.
func (g *Generator) Close() {
	if g == nil {
		return
	}
	g.close.Do(func() {
		g.cmd.Process.Kill()
		g.stdin.Close()
	})
	<-g.ended
}

// next waits for an event.
func (g *Generator) next(ctx context.Context, want string) (event, error) {
	var e event
	select {
	case e = <-g.events:
	case <-ctx.Done():
		g.Close()
		return e, context.Cause(ctx)
	case <-g.ended:
		select {
		case e = <-g.events: // it came before the end
		default:
			if ctx.Err() != nil {
				return e, context.Cause(ctx)
			}
			return e, g.endError()
		}
	}
	switch e.Event {
	case want:
		return e, nil
	case eventError:
		return e, &Error{What: e.Error, Cure: e.Hint}
	}
	return e, &Error{What: fmt.Sprintf("the load generator said %q instead of %q", e.Event, want)}
}

// endError returns the error of a generator that ended without an event.
func (g *Generator) endError() error {
	how := "ended early"
	if g.exit != nil {
		how = g.exit.Error()
	}
	if text := strings.TrimSpace(g.stderr.String()); text != "" {
		how += ": " + text
	}
	return &Error{What: "the load generator ended: " + how}
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

// environment removes the variables that are meant for the measured program.
func environment(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) { // Windows ignores case
		case "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG":
			return true
		}
		return false
	})
}

// prefix keeps the beginning of what is written to it: the first lines of a panic matter
// most.
type prefix struct {
	mu   sync.Mutex
	text []byte
}

func (t *prefix) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[:min(len(b), 2000-len(t.text))]...)
	return len(b), nil
}

func (t *prefix) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
