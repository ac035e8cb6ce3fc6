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

// result is the last time a stage passed as part of .ci/full.
type result struct {
	commit  string
	date    string // UTC, 2006-01-02
	seconds int
	tests   int      // how many passed, without their subtests; 0 where it runs none
	skipped []string // tests and subtests
}

// commitID is a commit as git shortens it, and no option.
var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// results by the names of stages.
type results map[string]result

const resultHead = `# The last time each stage of .ci/full passed, and at which commit. .ci/full writes this
# file. A stage runs again in .ci/run when something that it looks at has changed since.
`

// text is the file of results: a line for each stage, in the order of the table.
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
			return nil, fmt.Errorf("%s:%d: %q is no commit: run .ci/full %s again", resultFile, n+1, f[1], f[0])
		}
		r := result{commit: f[1], date: f[2], seconds: seconds, tests: tests}
		if f[5] != "-" {
			r.skipped = strings.Split(f[5], ",")
		}
		all[f[0]] = r
	}
	return all, nil
}

// repository answers what has happened since a commit.
type repository interface {
	// changed are the files below paths that are not as they were in the commit.
	changed(commit string, paths []string) ([]string, error)
	// behind is how many commits there are since.
	behind(commit string) (int, error)
}

// history is that of a checkout, with what is not committed yet.
type history struct {
	ctx  context.Context
	root string
}

// shallow tells whether older commits are missing.
func (h history) shallow() bool {
	text, _ := git(h.ctx, h.root, "rev-parse", "--is-shallow-repository")
	return text == "true"
}

func (h history) changed(commit string, paths []string) ([]string, error) {
	text, err := git(h.ctx, h.root, slices.Concat([]string{"diff", "--name-only", commit, "--"}, paths)...)
	if err != nil {
		return nil, err
	}
	more, err := git(h.ctx, h.root, slices.Concat([]string{"ls-files", "--others", "--exclude-standard", "--"}, paths)...)
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

// tooOld is an error when a stage that .ci/run may leave out has not passed for too long. One
// that never has is due, and that is enough.
func tooOld(all []stage, last results, repo repository) error {
	var old []string
	for _, s := range all {
		if s.every || last[s.name].commit == "" {
			continue
		}
		if n, err := repo.behind(last[s.name].commit); err != nil {
			old = append(old, s.name) // at a commit that is not there
		} else if n > oldest {
			old = append(old, fmt.Sprintf("%s (%d commits ago)", s.name, n))
		}
	}
	if len(old) > 0 {
		return fmt.Errorf("%s has no result of the last %d commits for: %s; run .ci/full and commit that file", resultFile, oldest, strings.Join(old, ", "))
	}
	return nil
}

// due are the stages that a change needs: those of every change, and of the others those
// that look at something that is not as it was when they last passed, with those that make
// what they use. The shortest are taken first; left says which are not, and why.
func due(all []stage, last results, repo repository, within time.Duration) (chosen []stage, left []string, err error) {
	taken := map[string]bool{}
	var total time.Duration
	var touched []stage
	why := map[string]string{} // by name, of those that are not taken
	for _, s := range all {
		if s.every {
			taken[s.name] = true
			total += lasts(s, last)
			continue
		}
		since := last[s.name].commit
		if since == "" {
			why[s.name] = "it has not passed yet"
			touched = append(touched, s)
			continue
		}
		files, err := repo.changed(since, s.paths)
		if err != nil {
			return nil, nil, err
		}
		why[s.name] = "nothing that it looks at has changed since " + since
		if len(files) > 0 {
			why[s.name] = files[0] + " has changed since " + since
			touched = append(touched, s)
		}
	}
	// needs are a stage and what it comes after, as far as that is not taken.
	needs := func(s stage) (more []stage, cost time.Duration) {
		for _, n := range all {
			if !taken[n.name] && (n.name == s.name || slices.Contains(s.after, n.name)) {
				more = append(more, n)
				cost += lasts(n, last)
			}
		}
		return more, cost
	}
	slices.SortStableFunc(touched, func(a, b stage) int { return int(lasts(a, last) - lasts(b, last)) })
	for _, s := range touched {
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
	return chosen, left, nil
}

// lasts is how long a stage takes: as long as the last time, or as the table says. What
// builds takes seconds where it is kept, and as long as the table says where it is not.
func lasts(s stage, last results) time.Duration {
	if s.keeps != "" && kept(s.keeps) {
		return 10 * time.Second
	}
	if r, ok := last[s.name]; ok && s.keeps == "" {
		return time.Duration(r.seconds) * time.Second
	}
	return time.Duration(s.seconds) * time.Second
}

// estimate is how long stages take one after the other.
func estimate(all []stage, last results) time.Duration {
	var sum time.Duration
	for _, s := range all {
		sum += lasts(s, last)
	}
	return sum
}

// kept tells whether there is something of this name in the user's cache directory.
func kept(name string) bool {
	dir, err := os.UserCacheDir()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, name))
	return err == nil
}
