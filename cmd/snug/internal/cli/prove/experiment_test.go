// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
)

// TestAgain: the next command is about the same program in the same container, and shows
// no password.
func TestAgain(t *testing.T) {
	var b lab.Bench
	cmd := NewBench(&ui.UI{})
	fs := cmd.Flags()
	l := &b.Lab
	if err := fs.Parse([]string{"--rounds", "3", "--cpus", "0.5", "--memory", "64MiB", "--rt", "--url", "http://u:secret@127.0.0.1:1/?a=b&c"}); err != nil {
		t.Fatal(err)
	}
	l.URLs = []string{"http://u:secret@127.0.0.1:1/?a=b&c"}
	l.Cmd = []string{"./my server", "--flag", "it's"}
	want := " --cpus 0.5 --memory 64MiB --rt --url 'http://u:xxxxx@127.0.0.1:1/?a=b&c' -- './my server' --flag "
	if got := again(l, fs, target...); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "'it'\\''s'") && !strings.HasSuffix(got, `"it's"`) {
		t.Errorf("got  %q\nwant %q...", got, want)
	}
	if got := again(&lab.Lab{}, fs); got != "" {
		t.Errorf("%q of no flags", got)
	}
}
