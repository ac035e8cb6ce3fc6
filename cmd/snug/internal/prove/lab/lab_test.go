// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
)

func TestExplain(t *testing.T) {
	fine := context.Background()
	ended, cancel := context.WithCancel(fine)
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		what string
		hint string
	}{
		{"interrupted", ended, context.Canceled, message.ExitInterrupted, "interrupted", "--record"},
		{"interrupted while it failed", ended, &runner.TargetError{What: "it ended", Cure: "cure"}, message.ExitInterrupted, "interrupted", "--record"},
		{"a failure stays what it is", ended, message.Usage("wrong", "right"), message.ExitUsage, "wrong", "right"},
		{"program", fine, fmt.Errorf("run 3: %w", &runner.TargetError{What: "it ended", Cure: "cure"}), message.ExitFailed, "it ended", "cure"},
		{"limit", fine, &cgrun.SpecError{What: "too small", Cure: "more"}, message.ExitUsage, "too small", "more"},
		{"no cgroup", fine, &cgrun.NoWayError{}, message.ExitFailed, "no cgroup", "--no-limit"},
		{"record", fine, &experiment.RecordError{What: "cannot write", Cure: "make room"}, message.ExitFailed, "cannot write", "make room"},
		{"generator", fine, &load.Error{What: "bad plan", Cure: "better"}, message.ExitFailed, "bad plan", "better"},
		{"anything", fine, errors.New("broken"), message.ExitFailed, "broken", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Lab{}
			var f *message.Failure
			if !errors.As(l.explain(c.ctx, c.err), &f) || f.Code != c.code || !strings.Contains(f.What, c.what) || !strings.Contains(f.Hint, c.hint) {
				t.Errorf("%+v, want %d, %q, %q", f, c.code, c.what, c.hint)
			}
		})
	}
	if err := new(Lab).explain(ended, nil); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

func TestHeeded(t *testing.T) {
	for _, c := range []struct {
		name string
		l    Lab
		flag string // that is rejected; "" is none
	}{
		{"nothing", Lab{}, ""},
		{"body for a service", Lab{body: "x", URLs: []string{"http://h/"}}, ""},
		{"body for a batch command", Lab{body: "x", Cmd: []string{"true"}}, "--body"},
		{"body for a built-in service", Lab{body: "x"}, "--body"},
		{"header", Lab{header: []string{"a: b"}}, "--header"},
		{"method", Lab{method: "PUT"}, "--method"},
		{"timeout of a built-in service", Lab{timeout: time.Second}, ""},
		{"timeout of a batch command", Lab{timeout: time.Second, Cmd: []string{"true"}}, "--timeout"},
		{"patience with a built-in service", Lab{ready: time.Second}, ""},
		{"patience with a batch command", Lab{ready: time.Second, Cmd: []string{"true"}}, "--ready"},
	} {
		err := c.l.checkFlags()
		if (err != nil) != (c.flag != "") || err != nil && !strings.HasPrefix(err.Error(), c.flag+": ") {
			t.Errorf("%s: %v, want %q refused", c.name, err, c.flag)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 1400 * time.Millisecond: "1 s", 61 * time.Second: "61 s", 119 * time.Second: "119 s",
		2 * time.Minute: "2 min", 150 * time.Second: "3 min", 15 * time.Minute: "15 min", 3 * time.Hour: "180 min",
	} {
		if got := approximate(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
