// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// CompletionTime bounds how long completion keeps the user waiting. Tests on busy machines
// raise it.
var CompletionTime = 300 * time.Millisecond

// completePids completes pids of Go processes, each with its program's name, for a command
// that takes up to maxTargets targets. If the word is not a number, the shell completes
// files. Processes that cannot be read, or not in time, are left out.
//
//go:noinline
func completePids(maxTargets int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= maxTargets {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if prefix != "" && examine.PID(prefix) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, cancel := context.WithTimeout(context.Background(), CompletionTime)
		defer cancel()
		all := make(chan string)
		go goPids(ctx, prefix, args, all)
		var found []string
		for {
			select {
			case c, more := <-all:
				if !more {
					return found, cobra.ShellCompDirectiveDefault
				}
				found = append(found, c)
			case <-ctx.Done():
				return found, cobra.ShellCompDirectiveDefault
			}
		}
	}
}

// goPids sends the Go processes whose pid starts with prefix, except those in args, until
// ctx ends.
func goPids(ctx context.Context, prefix string, args []string, to chan<- string) {
	defer close(to)
	observe.New().Each(observe.Skips{}, func(p *proc.Process) bool {
		pid := strconv.Itoa(p.Pid())
		return ctx.Err() == nil && strings.HasPrefix(pid, prefix) && !slices.Contains(args, pid)
	}, func(g *goproc.Facts) {
		if observe.Momentary(&g.Stat) {
			return
		}
		select {
		case to <- strconv.Itoa(g.Pid) + "\t" + message.Clean(path.Base(observe.Executable(g))+" "+g.Exe.GoVersion):
		case <-ctx.Done():
		}
	})
}
