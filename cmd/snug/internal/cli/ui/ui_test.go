// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// talker is a stderr that detects concurrent writes.
type talker struct {
	t       *testing.T
	talking atomic.Int32
	said    []byte
}

func (w *talker) Write(p []byte) (int, error) {
	if n := w.talking.Add(1); n != 1 {
		w.t.Errorf("%d at the same time", n)
	}
	for range 100 {
		runtime.Gosched()
	}
	w.said = append(w.said, p...)
	w.talking.Add(-1)
	return len(p), nil
}

// TestNotes checks that concurrent notes do not mix.
func TestNotes(t *testing.T) {
	w := &talker{t: t}
	u := &UI{Err: w}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { u.Note("%s", "a") })
	}
	all.Wait()
	if got, want := string(w.said), strings.Repeat("snug: a\n", 8); got != want {
		t.Errorf("%q", got)
	}
}

// TestInterrupted checks the error and the hint of an interrupted command.
func TestInterrupted(t *testing.T) {
	for hint, want := range map[string]string{"": "there is no answer yet; run it again", "go on": "go on"} {
		var talk bytes.Buffer
		u := &UI{Err: &talk, Command: "snug doctor"}
		code := u.Complain(&message.Failure{Code: message.ExitInterrupted, What: "interrupted", Hint: hint})
		if got := talk.String(); code != message.ExitInterrupted || got != "snug: error: snug doctor: interrupted\nsnug: hint: "+want+"\n" {
			t.Errorf("exit code %d, %q", code, got)
		}
	}
}

// TestAsksJSON: as pflag reads a boolean flag.
func TestAsksJSON(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	if AsksJSON(flags, []string{"--json"}, false) {
		t.Error("a command without --json")
	}
	(&UI{}).JSONFlag(flags)
	for args, want := range map[string]bool{
		"": false, "--json": true, "--wrong --json": true, "--json=true": true, "--json=1": true, "--json=false": false, "--json=F": false,
		"--json --json=false": false, "--json=false --json": true, "--jsonx": false, "-- --json": false, "--json=maybe": false,
	} {
		if got := AsksJSON(flags, strings.Fields(args), false); got != want {
			t.Errorf("%q: %v, want %v", args, got, want)
		}
	}
	if !AsksJSON(flags, []string{"--wrong"}, true) || AsksJSON(flags, []string{"--json=false"}, true) {
		t.Error("what was read before")
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"plan", "plain", "run"}
	for word, want := range map[string]string{"pln": "did you mean snug plan?", "plat": "did you mean snug plan or snug plain?", "xyz": "none"} {
		if got := DidYouMean("snug ", word, names, "none"); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
