// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// parses reports why a command line of snug is not valid; nothing runs.
func parses(line string) error {
	u := &ui.UI{Getenv: func(string) string { return "" }}
	root := program(u).Command(u)
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(strings.NewReplacer("'", "", `\"`, "", `"`, "").Replace(line))
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if cmd == root && len(rest) > 0 {
		return errors.New("no such command")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd.Args == nil {
		return nil
	}
	return cobra.PositionalArgs(cmd.Args)(cmd, cmd.Flags().Args())
}

// TestNextCommandsAreValid: what snug proposes to run next, in all transcripts and in the
// documents of the reports, has flags that exist, with values that they accept.
func TestNextCommandsAreValid(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../testdata/script/*.txtar", "../report/testdata/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	proposed := regexp.MustCompile(`(?m)^next: (snug .*)$|"next":"(snug (?:[^"\\]|\\.)*)"`)
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range proposed.FindAllStringSubmatch(string(text), -1) {
			line := m[1] + m[2]
			if seen[line] {
				continue
			}
			seen[line] = true
			if err := parses(line); err != nil {
				t.Errorf("%s: %q: %v", filepath.Base(file), line, err)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d commands were found", len(seen))
	}
	for _, wrong := range []string{"snug tune --userz 3 -- x", "snug bench --users many -- x", "snug nope", "snug tune --check -- x"} {
		if parses(wrong) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
