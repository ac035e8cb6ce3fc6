// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// result is the last pass of a stage as part of .ci/full.
type result struct {
	commit  string
	date    string // UTC, 2006-01-02
	seconds int
	tests   int      // number that passed, without subtests; 0 for a stage without tests
	skipped []string // tests and subtests
}

// commitID matches a commit as git abbreviates it, and no option.
var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// results maps the names of stages to results.
type results map[string]result

const resultHead = `# The last pass of each stage of .ci/full, and its commit. .ci/full writes this file. .ci/run
# runs a stage again when a file that it depends on has changed since.
`

// text formats resultFile: one line per stage, in the order of the table.
func (r results) text(order []stage) string {
	var b strings.Builder
	b.WriteString(resultHead)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tcommit\tdate\tseconds\ttests\tskipped")
	for _, s := range order {
		if got, ok := r[s.name]; ok && !s.every {
			skipped := strings.Join(got.skipped, ",")
			if skipped == "" {
				skipped = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", s.name, got.commit, got.date, got.seconds, got.tests, skipped)
		}
	}
	w.Flush()
	return b.String()
}

func parseResults(text string) (results, error) {
	all := results{}
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") || f[0] == "stage" {
			continue
		}
		if len(f) != 6 {
			return nil, fmt.Errorf("%s:%d: %d fields, want 6: run .ci/full %s again", resultFile, n+1, len(f), f[0])
		}
		seconds, err := strconv.Atoi(f[3])
		tests, err2 := strconv.Atoi(f[4])
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("%s:%d: %q and %q are not two numbers: run .ci/full %s again", resultFile, n+1, f[3], f[4], f[0])
		}
		if !commitID.MatchString(f[1]) {
			return nil, fmt.Errorf("%s:%d: %q is not a commit: run .ci/full %s again", resultFile, n+1, f[1], f[0])
		}
		r := result{commit: f[1], date: f[2], seconds: seconds, tests: tests}
		if f[5] != "-" {
			r.skipped = strings.Split(f[5], ",")
		}
		all[f[0]] = r
	}
	return all, nil
}

// repository is the history of a checkout.
type repository interface {
	// changed returns the files that differ from the commit.
	changed(commit string) ([]string, error)
	// behind returns the number of commits since this one.
	behind(commit string) (int, error)
}

// history is the git history of a checkout, including uncommitted changes.
type history struct {
	ctx  context.Context
	root string
}

// shallow reports whether older commits are missing.
func (h history) shallow() bool {
	text, _ := git(h.ctx, h.root, "rev-parse", "--is-shallow-repository")
	return text == "true"
}

func (h history) changed(commit string) ([]string, error) {
	text, err := git(h.ctx, h.root, "diff", "--name-only", "--no-renames", commit)
	if err != nil {
		return nil, err
	}
	more, err := git(h.ctx, h.root, "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return append(strings.Fields(text), strings.Fields(more)...), nil
}

func (h history) behind(commit string) (int, error) {
	text, err := git(h.ctx, h.root, "rev-list", "--count", commit+"..HEAD")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// due returns the stages that a change needs: the stages of every change, the stages that depend on a file that
// has changed since they last passed or whose result is more than maxBehind commits old, and
// the stages whose products these use. It adds the shortest first, while the total stays within
// the limit, and no long one. left names the others, with reasons. An old result that is left out is an
// error.
func due(all []stage, last results, repo repository, depends func(stage, string) bool, within time.Duration) (chosen []stage, left []string, err error) {
	taken := map[string]bool{}
	var total time.Duration
	var touched []stage
	var old []string
	why := map[string]string{} // by name, for stages that are not taken
	for _, s := range all {
		if s.every {
			taken[s.name] = true
			total += expected(s, last)
			continue
		}
		since := last[s.name].commit
		if since == "" {
			why[s.name] = "it has not passed yet"
			touched = append(touched, s)
			continue
		}
		if n, err := repo.behind(since); err != nil || n > maxBehind { // err: its commit does not exist
			why[s.name] = "it last passed at " + since + ", which is too long ago"
			old = append(old, s.name)
			touched = append(touched, s)
			continue
		}
		files, err := repo.changed(since)
		if err != nil {
			return nil, nil, err
		}
		why[s.name] = "nothing that it depends on has changed since " + since
		if i := slices.IndexFunc(files, func(f string) bool { return depends(s, f) }); i >= 0 {
			why[s.name] = files[i] + " has changed since " + since
			touched = append(touched, s)
		}
	}
	// needs returns a stage and the stages it comes after, without those already taken.
	needs := func(s stage) (more []stage, cost time.Duration) {
		for _, n := range all {
			if !taken[n.name] && (n.name == s.name || slices.Contains(s.after, n.name)) {
				more = append(more, n)
				cost += expected(n, last)
			}
		}
		return more, cost
	}
	slices.SortStableFunc(touched, func(a, b stage) int { return int(expected(a, last) - expected(b, last)) })
	for _, s := range touched {
		if s.long {
			why[s.name] += fmt.Sprintf("; it takes about %v: run .ci/full %s", expected(s, last).Round(time.Second), s.name)
			continue
		}
		more, cost := needs(s)
		if total+cost > within {
			why[s.name] += fmt.Sprintf(", but it takes about %v and would not end within %v: run .ci/full %s", cost.Round(time.Second), within, s.name)
			continue
		}
		total += cost
		for _, n := range more {
			taken[n.name] = true
		}
	}
	for _, s := range all {
		if taken[s.name] {
			chosen = append(chosen, s)
		} else {
			left = append(left, s.name+": "+why[s.name])
		}
	}
	if old = slices.DeleteFunc(old, func(name string) bool { return taken[name] }); len(old) > 0 {
		return nil, nil, fmt.Errorf("%s has no result within the last %d commits for: %s, which are long or would not end within %v; run .ci/full %s and commit that file",
			resultFile, maxBehind, strings.Join(old, ", "), within, strings.Join(old, " "))
	}
	return chosen, left, nil
}

// expected returns how long a stage will take: its last time or, without a result, the seconds of
// the table. For a stage that builds, it is 10 s if the product is cached, or else these seconds.
func expected(s stage, last results) time.Duration {
	if s.keeps != "" && kept(s.keeps) {
		return 10 * time.Second
	}
	if r, ok := last[s.name]; ok && s.keeps == "" {
		return time.Duration(r.seconds) * time.Second
	}
	return time.Duration(s.seconds) * time.Second
}

// estimate returns the time of the stages one after the other.
func estimate(all []stage, last results) time.Duration {
	var sum time.Duration
	for _, s := range all {
		sum += expected(s, last)
	}
	return sum
}

// kept reports whether the user's cache directory has an entry with this name.
func kept(name string) bool {
	dir, err := os.UserCacheDir()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, name))
	return err == nil
}
