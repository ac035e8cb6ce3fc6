// SPDX-License-Identifier: Apache-2.0

package small

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// answer runs snug-run.
func answer(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	u := &ui.UI{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }}
	code = Main(u, args)
	return code, stdout.String(), stderr.String()
}

// TestFlagsFirst: flags may stand before the command, as with snug.
func TestFlagsFirst(t *testing.T) {
	_, want, _ := answer(t, "version", "--json")
	for _, args := range []string{"--json version", "--json=true version", "--color never version --json", "--color=never --json version", "--version --json"} {
		if code, got, talk := answer(t, strings.Fields(args)...); code != 0 || got != want {
			t.Errorf("%s: %d, %q, %q, want %q", args, code, got, talk, want)
		}
	}
	for args, want := range map[string]string{
		"--color sometimes version": "--color sometimes: wrong value", "--color sometimes": "--color sometimes: wrong value", "--colr never version": "--colr: unknown flag", "--wrong": "--wrong: unknown flag",
		"-- version": "version: unknown command", "--json": "", "-h": "", "help -h": "", "-h plan": "", "help run": "",
	} {
		code, _, talk := answer(t, strings.Fields(args)...)
		if !strings.Contains(talk, want) || (code == 0) != (want == "") {
			t.Errorf("%s: %d, %q, want %q", args, code, talk, want)
		}
	}
}

// TestColor: words are coloured as by snug.
func TestColor(t *testing.T) {
	if _, out, _ := answer(t, "plan", "--color", "always"); !strings.HasPrefix(out, "\x1b[1m") {
		t.Errorf("%q", out)
	}
	if _, out, _ := answer(t, "plan"); strings.Contains(out, "\x1b") {
		t.Errorf("not a terminal: %q", out)
	}
}
