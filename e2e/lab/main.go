// SPDX-License-Identifier: Apache-2.0

// Lab builds the commands that tests of Kubernetes run, so that no test has to.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := build(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// build builds all commands that are not there yet, and says how long each took.
func build(ctx context.Context) error {
	for _, s := range kubebuild.All {
		begin := time.Now()
		dir, err := s.Build(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%4.0f s  %s %s in %s\n", time.Since(begin).Seconds(), s.Module, s.Version, dir)
	}
	return nil
}
