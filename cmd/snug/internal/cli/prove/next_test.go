// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// parsed parses a command line, without running it.
func parsed(t *testing.T, cmd *cobra.Command, line []string) {
	t.Helper()
	if err := cmd.ParseFlags(line); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

// TestLoadsAreCarried: bench and tune propose each other with the load that was measured,
// and accept what the other one proposes.
func TestLoadsAreCarried(t *testing.T) {
	const url = "--url|http://127.0.0.1:1/|--url|http://127.0.0.1:2/"
	for _, flags := range []string{
		url + "|--users|8",
		url + "|--load|800/s|--method|PUT|--body|{}|--header|Accept: a|--header|X-Y: b, c",
		url + "|--cpus|0.5|--memory|64MiB|--timeout|3s|--ready|20s|--rt",
		url + "|--no-limit",
		"--cpus|1",
	} {
		line := strings.Split(flags, "|")
		var urls []string
		if strings.Contains(flags, "--url") {
			urls = []string{"http://127.0.0.1:1/", "http://127.0.0.1:2/"}
		}
		own := NewBench(&ui.UI{})
		parsed(t, own, line)
		b := &lab.Bench{Lab: lab.Lab{Cmd: []string{"./server"}, URLs: urls}}
		b.Sweep.Workloads = []string{"command"}
		next := nextBench(b, own.Flags(), &finding.Bench{Setup: finding.Setup{Complete: true}})
		if !strings.HasPrefix(next, "snug tune ") || !strings.HasSuffix(next, " -- ./server") {
			t.Fatalf("next %q", next)
		}
		words := split(next)
		tune := NewTune(&ui.UI{})
		parsed(t, tune, words[2:])
		for _, name := range []string{"users", "load", "method", "body", "cpus", "memory", "timeout", "ready", "rt", "no-limit"} {
			if was, is := own.Flags().Lookup(name).Value.String(), tune.Flags().Lookup(name).Value.String(); was != is {
				t.Errorf("%s: --%s is %q in %q", flags, name, is, next)
			}
		}
		if n := strings.Count(next, "--url"); n != len(urls) {
			t.Errorf("%d of %d addresses in %q", n, len(urls), next)
		}
		if strings.Count(next, "--header") != strings.Count(flags, "--header") || strings.Contains(next, "b, c") {
			t.Errorf("the headers in %q: their names, and not their values", next)
		}
		tn := &lab.Tune{Lab: lab.Lab{Cmd: []string{"./server"}, URLs: urls}}
		back := nextTune(tn, tune.Flags(), &finding.Tune{Setup: finding.Setup{Complete: true}})
		parsed(t, NewBench(&ui.UI{}), split(back)[2:])
		tn.RecordFile = "a file"
		rest := nextTune(tn, tune.Flags(), &finding.Tune{})
		if !strings.HasPrefix(rest, "snug tune --record 'a file'") {
			t.Errorf("the rest of a search: %q", rest)
		}
		parsed(t, NewTune(&ui.UI{}), split(rest)[2:])
	}
}

// split splits a command line at spaces, except in single quotes.
func split(line string) []string {
	var words []string
	quoted, word := false, ""
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words, word = append(words, word), ""
		default:
			word += string(r)
		}
	}
	return words
}

// TestSetsAreCarried: a bench that goes on has all of its settings.
func TestSetsAreCarried(t *testing.T) {
	cmd := NewBench(&ui.UI{})
	parsed(t, cmd, []string{"--set", "A=1", "--set", "A=2,GOGC=50", "--gogc", "50", "--gogc", "100,200"})
	b := &lab.Bench{Lab: lab.Lab{Cmd: []string{"./batch"}, RecordFile: "r"}}
	got := nextBench(b, cmd.Flags(), &finding.Bench{})
	for _, want := range []string{"--set A=1 ", "--set A=2,GOGC=50", "--gogc 50 ", "--gogc 100,200"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q without %q", got, want)
		}
	}
}
