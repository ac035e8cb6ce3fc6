// SPDX-License-Identifier: Apache-2.0

//go:build unix

package govet

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// TestInterrupted: Ctrl-C also ends the go command.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	goes, ended := filepath.Join(dir, "goes"), filepath.Join(dir, "ended")
	script := "#!/bin/sh\ntrap 'echo >" + ended + "; exit 1' INT\necho >" + goes + "\nwhile :; do sleep 0.1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	// A shell cannot trap a signal that was ignored when it started, as in a script's background.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt)
	defer signal.Stop(heard)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(goes); err == nil || ctx.Err() != nil {
				stop()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	r, err := Run(ctx, "", []string{"./..."}, Build{})
	var f *message.Failure
	if r.Found != nil || !errors.As(err, &f) || f.Code != message.ExitInterrupted || f.What != "interrupted" || f.Hint == "" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("the go command got no signal: %v", err)
	}
}
