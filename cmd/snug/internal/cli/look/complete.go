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

// CompletionTime is how long a shell may keep the user's key waiting. Tests on busy
// machines have more.
var CompletionTime = 300 * time.Millisecond

// completePids completes numbers of Go processes, each with its program's name, in a
// command line that takes at most so many targets. Where something else is being written the
// shell completes files. What cannot be found out, or not in time, is left out.
func completePids(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if begun != "" && examine.PID(begun) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, cancel := context.WithTimeout(context.Background(), CompletionTime)
		defer cancel()
		all := make(chan string)
		go goPids(ctx, begun, given, all)
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

// goPids sends the Go processes whose number begins so, but for those given, until ctx
// ends.
func goPids(ctx context.Context, begun string, given []string, to chan<- string) {
	defer close(to)
	observe.New().Each(map[string][]int{}, func(p *proc.Process) bool {
		pid := strconv.Itoa(p.Pid())
		return ctx.Err() == nil && strings.HasPrefix(pid, begun) && !slices.Contains(given, pid)
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
