// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestTyped(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name  string
		words []string
		want  string
	}{
		{"nothing", nil, ""},
		{"an empty word", []string{""}, "''"},
		{"plain words", []string{"server", "4711"}, "server 4711"},
		{"words for a shell", []string{"my server", "it's"}, `'my server' 'it'\''s'`},
		{"a long word", []string{long}, long[:mostShown] + "... (1048576 bytes)"},
		{"a long word among others", []string{"a", long, "b"}, "a " + long[:mostShown] + "... (1048576 bytes)"},
		{"many words", slices.Repeat([]string{"abcdefghi"}, 100), strings.Repeat("abcdefghi ", mostShown/10) + "... (999 bytes)"},
		{"not in the middle of a sign", []string{strings.Repeat("日", 100)}, strings.Repeat("日", mostShown/3) + "... (300 bytes)"},
	} {
		if got := typed(c.words...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := cut(strings.Repeat("\x80", 100), 50); len(got) > 70 {
		t.Errorf("no text: %q", got)
	}
}

// TestOddWords: every command says what is wrong with a word that is empty, long or no
// text, in two lines that are not long and are text.
func TestOddWords(t *testing.T) {
	var lines [][]string
	root := newRoot(&ui{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
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
		name := line[0] + " " + cut(strings.Join(line[1:], " "), 10)
		if code == exitFine || out.Len() > 0 || strings.Count(said, "\n") != 2 || !strings.HasPrefix(said, "snug: error: ") || !strings.Contains(said, "\nsnug: hint: ") {
			t.Errorf("%q: exit code %d\n%s%s", cut(name, 40), code, cut(out.String(), 999), cut(said, 999))
		}
		if len(said) > 2*mostTalk || !utf8.ValidString(said) || strings.ContainsAny(said, "\x1b\ufffd") {
			t.Errorf("%q: %d bytes: %q", cut(name, 40), len(said), cut(said, 999))
		}
		if last := line[len(line)-1]; last == "" && !strings.Contains(said, "''") {
			t.Errorf("%q: does not show what was typed: %s", name, said)
		}
	}
}

// TestInterrupted: it says what was, and what to do.
func TestInterrupted(t *testing.T) {
	for hint, want := range map[string]string{"": "it had no answer yet; run it again", "go on": "go on"} {
		var talk bytes.Buffer
		u := &ui{err: &talk, command: "snug doctor"}
		code := u.complain(&failure{code: exitInterrupted, what: "interrupted", hint: hint})
		if got := talk.String(); code != exitInterrupted || got != "snug: error: interrupted, snug doctor\nsnug: hint: "+want+"\n" {
			t.Errorf("exit code %d, %q", code, got)
		}
	}
}

// TestCompleteFlags: the words that are completed are those that are taken.
func TestCompleteFlags(t *testing.T) {
	for key, words := range flagWords {
		name, flag, _ := strings.Cut(key, " ")
		var out, talk bytes.Buffer
		if code := Main([]string{cobra.ShellCompRequestCmd, name, flag, ""}, strings.NewReader(""), &out, &talk); code != 0 {
			t.Errorf("%s: exit code %d\n%s", key, code, &talk)
		}
		if want := strings.Join(words, "\n") + "\n:4\n"; out.String() != want {
			t.Errorf("%s: %q, want %q", key, &out, want)
		}
		root := newRoot(&ui{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		f := cmd.Flags().Lookup(strings.TrimPrefix(flag, "--"))
		if f == nil {
			t.Fatalf("no flag %s", key)
		}
		for _, word := range words {
			if err := f.Value.Set(word); err != nil {
				t.Errorf("%s %s: %v", key, word, err)
			}
		}
	}
	if got, want := flagWords["ps --sort"], slices.Sorted(maps.Keys(psOrders)); !slices.Equal(got, want) {
		t.Errorf("ps sorts by %v, completed are %v", want, got)
	}
	if got, want := slices.Sorted(slices.Values(failWords)), slices.Sorted(maps.Keys(severities)); !slices.Equal(got, want) {
		t.Errorf("doctor fails on %v, completed are %v", want, got)
	}
}

// TestCompleteNothing: of a line of which nothing is written commands are completed.
func TestCompleteNothing(t *testing.T) {
	for _, request := range []string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd} {
		var out, talk bytes.Buffer
		if code := Main([]string{request}, strings.NewReader(""), &out, &talk); code != 0 || !strings.Contains(out.String(), "\ndoctor") || !strings.HasSuffix(out.String(), "\n:4\n") {
			t.Errorf("%s: exit code %d\n%s%s", request, code, &out, &talk)
		}
	}
}
