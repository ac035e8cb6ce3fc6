// SPDX-License-Identifier: Apache-2.0

// Ci runs the checks of a change, stage by stage, and reports the time of each. .ci/run and
// .ci/full start it:
//
//	.ci/run            the stages that every change needs, and those that this change touches
//	.ci/run NAME...    these stages
//	.ci/full           all stages; it writes the results to .ci/full.txt, for you to commit
//	.ci/full NAME...   these stages, and their lines in .ci/full.txt
//	.ci/full -list     prints the stages and what each depends on
//	.ci/run -cost [N]  prints what .ci/run would have taken for each of the last N commits, 50 by default
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// resultFile holds the results of .ci/full. It is relative to the root of the repository.
	resultFile = ".ci/full.txt"
	// maxBehind is how many commits a result may be behind.
	maxBehind = 100
	// maxDuration bounds .ci/run with the stages that a change touches.
	maxDuration = time.Hour
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ci: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ci", flag.ContinueOnError)
	full := flags.Bool("full", false, "run all stages and keep their results")
	list := flags.Bool("list", false, "print the stages and what each depends on")
	replay := flags.Bool("cost", false, "print what each of the last N commits would have taken, 50 by default; up to REV with -at")
	at := flags.String("at", "HEAD", "the last commit of -cost")
	if err := flags.Parse(args); err != nil {
		return err
	}
	begin := time.Now()
	root, err := git(ctx, "", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(root + "/" + resultFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	last, err := parseResults(string(text))
	if err != nil {
		return err
	}
	history := history{ctx, root}
	graphed := func() (g graph, depends func(stage, string) bool, err error) {
		if g, err = load(ctx, root); err == nil {
			depends, err = g.depends(stages)
		}
		return g, depends, err
	}
	if *list || *replay {
		g, depends, err := graphed()
		switch {
		case err != nil:
			return err
		case *list:
			return printStages(out, g)
		}
		return cost(history, *at, flags.Arg(0), last, depends, out)
	}

	var chosen []stage
	var left []string // the stages that do not run, and why
	switch {
	case flags.NArg() > 0:
		if chosen, err = named(flags.Args()); err != nil {
			return err
		}
	case *full:
		chosen = stages
	case history.shallow():
		for _, s := range stages {
			if s.every {
				chosen = append(chosen, s)
			} else {
				left = append(left, s.name+": this clone is shallow, so what has changed is unknown; git fetch --unshallow")
			}
		}
	default:
		_, depends, err := graphed()
		if err != nil {
			return err
		}
		if chosen, left, err = due(stages, last, history, depends, maxDuration); err != nil {
			return err
		}
	}
	r, err := newRunner(ctx, root, out, last)
	if err != nil {
		return err
	}
	defer r.close()
	fmt.Fprintf(out, "%d stages, about %v as they were last; %s\n", len(chosen), estimate(chosen, last).Round(time.Minute), caches(ctx))
	for _, l := range left {
		fmt.Fprintln(out, "left out:", l)
	}
	keep := func(outcome) {}
	if *full {
		if keep, err = keeper(ctx, root, out); err != nil {
			return err
		}
	}
	outcomes := r.all(ctx, chosen, keep)
	fmt.Fprint(out, "\n", table(outcomes, last, time.Since(begin)))
	var failed []string
	for _, o := range outcomes {
		if o.err != nil {
			failed = append(failed, o.name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s; each alone: .ci/run %s", strings.Join(failed, ", "), strings.Join(failed, " "))
	}
	return ctx.Err()
}

// named returns the stages with these names, in the order of the table.
func named(names []string) ([]stage, error) {
	chosen := slices.Clone(stages)
	for _, n := range names {
		if !slices.ContainsFunc(stages, func(s stage) bool { return s.name == n }) {
			return nil, fmt.Errorf("no stage %q; .ci/full -list shows them", n)
		}
	}
	return slices.DeleteFunc(chosen, func(s stage) bool { return !slices.Contains(names, s.name) }), nil
}

// keeper returns a function that writes a stage's result to resultFile as soon as the stage has
// ended. It skips the stages that .ci/run always runs. A stage that failed loses its result, so
// that it is due. The result is kept only if the tree was that of one commit before and after.
func keeper(ctx context.Context, root string, out io.Writer) (func(outcome), error) {
	ctx = context.WithoutCancel(ctx)
	tree := func() (commit, changed string, err error) {
		if commit, err = git(ctx, root, "rev-parse", "--short=12", "HEAD"); err == nil {
			changed, err = git(ctx, root, "status", "--porcelain", "--untracked-files=all", "--", ".", ":!"+resultFile)
		}
		return commit, changed, err
	}
	commit, changed, err := tree()
	if err != nil {
		return nil, err
	}
	return func(o outcome) {
		if o.every {
			return
		}
		now, after, err := tree()
		switch {
		case err != nil:
		case changed != "" || after != "":
			err = fmt.Errorf("these changes are in no commit:\n%s", cmp.Or(changed, after))
		case now != commit:
			err = fmt.Errorf("the commit was %s and is %s", commit, now)
		case o.err != nil:
			err = keep(root, o.name, nil)
		default:
			err = keep(root, o.name, &result{commit: commit, date: time.Now().UTC().Format(time.DateOnly), seconds: int(o.took.Seconds()), tests: o.tests, skipped: o.skipped})
		}
		if err != nil {
			fmt.Fprintf(out, "the result of %s is not kept: %v\n", o.name, err)
			return
		}
		fmt.Fprintf(out, "kept in %s: commit it\n", resultFile)
	}, nil
}

// keep sets a stage's line in resultFile; nil removes it.
func keep(root, name string, r *result) error {
	dir, err := os.Open(root + "/.ci")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil { // until dir is closed
		return err
	}
	text, err := os.ReadFile(root + "/" + resultFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	all, err := parseResults(string(text))
	if err != nil {
		return err
	}
	if delete(all, name); r != nil {
		all[name] = *r
	}
	temporary := filepath.Join(dir.Name(), ".full.txt."+strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(temporary, []byte(all.text(stages)), 0o644); err != nil {
		os.Remove(temporary)
		return err
	}
	return os.Rename(temporary, root+"/"+resultFile)
}

// git returns the output of a git command without the last newline.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(text)), err
}
