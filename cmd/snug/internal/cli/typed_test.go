// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// commands returns the tree of all commands.
func commands() *cobra.Command {
	u := &ui.UI{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	return program(u).Command(u)
}

// TestOddWords checks that every command reports an argument that is empty, long or not text, in two
// short lines of text.
func TestOddWords(t *testing.T) {
	var lines [][]string
	root := commands()
	for _, cmd := range root.Commands() {
		for _, word := range []string{"", strings.Repeat("long", 1<<18), "\xff\xfe\x1b[31m"} {
			if word != "" && cmd.Name() == "vet" {
				continue // the go command says what it is
			}
			lines = append(lines, []string{cmd.Name(), word})
		}
	}
	long := strings.Repeat("y", 1<<20)
	lines = append(lines, []string{""}, []string{long}, []string{"run", "--", ""}, []string{"tune", "--", ""}, []string{"--" + long}, []string{"-" + long},
		[]string{"plan", "--go", long}, []string{"limits", "--root", long}, []string{"limits", "--pid", "\xff"}, []string{"top", "--sort", long},
		[]string{"doctor", "--fail-on", long, "1"}, append([]string{"explain"}, slices.Repeat([]string{"a"}, 1<<14)...))
	for _, line := range lines {
		var out, talk bytes.Buffer
		code := Main(line, strings.NewReader(""), &out, &talk)
		said := talk.String()
		name := line[0] + " " + message.Cut(strings.Join(line[1:], " "), 10)
		if code == message.ExitFine || out.Len() > 0 || strings.Count(said, "\n") != 2 || !strings.HasPrefix(said, "snug: error: ") || !strings.Contains(said, "\nsnug: hint: ") {
			t.Errorf("%q: exit code %d\n%s%s", message.Cut(name, 40), code, message.Cut(out.String(), 999), message.Cut(said, 999))
		}
		if len(said) > 2*ui.MaxLine || !utf8.ValidString(said) || strings.ContainsAny(said, "\x1b\ufffd") {
			t.Errorf("%q: %d bytes: %q", message.Cut(name, 40), len(said), message.Cut(said, 999))
		}
		if last := line[len(line)-1]; last == "" && !strings.Contains(said, "''") {
			t.Errorf("%q: does not show what was typed: %s", name, said)
		}
	}
}

// TestCompleteFlags checks that completed values are valid values.
func TestCompleteFlags(t *testing.T) {
	want := map[string][]string{
		"doctor --fail-on": {"info", "warning", "error", "never"}, "vet --fail-on": nil, "vet --format": nil, "lint --fail-on": nil, "lint --format": nil, "check --fail-on": nil, "check --format": nil, "ps --sort": nil, "top --sort": nil,
		"plan --round": nil, "run --round": nil, "bench --workload": nil, "tune --workload": nil, "bench --objective": nil, "tune --objective": nil, "bench --in": nil, "size --slo": nil,
	}
	root := commands()
	seen := 0
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok {
				return
			}
			key := cmd.Name() + " --" + f.Name
			words, ok := want[key]
			if !ok {
				t.Errorf("%s is completed and not in this test", key)
				return
			}
			seen++
			var out, talk bytes.Buffer
			if code := Main([]string{cobra.ShellCompRequestCmd, cmd.Name(), "--" + f.Name, ""}, strings.NewReader(""), &out, &talk); code != 0 {
				t.Errorf("%s: exit code %d\n%s", key, code, &talk)
			}
			text, directive, _ := strings.Cut(out.String(), "\n:")
			got := strings.Fields(text)
			if directive != "4\n" || len(got) < 2 || words != nil && !slices.Equal(got, words) {
				t.Errorf("%s: %q", key, &out)
			}
			for _, word := range got {
				if err := f.Value.Set(word); err != nil {
					t.Errorf("%s %s: %v", key, word, err)
				}
			}
		})
	}
	if seen != len(want) {
		t.Errorf("%d flags are completed, want %d", seen, len(want))
	}
}

// TestCompleteNothing checks that an empty command line completes commands.
func TestCompleteNothing(t *testing.T) {
	for _, request := range []string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd} {
		var out, talk bytes.Buffer
		if code := Main([]string{request}, strings.NewReader(""), &out, &talk); code != 0 || !strings.Contains(out.String(), "\ndoctor") || !strings.HasSuffix(out.String(), "\n:4\n") {
			t.Errorf("%s: exit code %d\n%s%s", request, code, &out, &talk)
		}
	}
}
