// SPDX-License-Identifier: Apache-2.0

// Lab prepares what tests of Kubernetes need:
//
//	go run ./e2e/cluster/lab -build      builds all commands that tests run, so that no test waits for one
//	go run ./e2e/cluster/lab -to FILE    starts a server, shared by all tests with SNUG_LAB=FILE
//
// The server runs until standard input ends or it gets a signal.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

func main() {
	all := flag.Bool("build", false, "build the missing commands, and print the time of each release")
	file := flag.String("to", "", "run a server, and write its address to this file when it is ready")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case flag.NArg() > 0 || *all == (*file != ""):
		flag.Usage()
		os.Exit(2)
	case *all:
		err = build(ctx)
	default:
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
		err = kube.Serve(ctx, *file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

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
