// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// ColorFlag adds --color to the flags of a program.
func (u *UI) ColorFlag(flags *pflag.FlagSet) {
	flags.StringVar(&u.color, "color", "auto",
		"colour words in text `WHEN`: auto (on a terminal, without NO_COLOR), always or never")
}

// CheckColor returns an error for a wrong --color.
func (u *UI) CheckColor() error {
	switch u.color {
	case "", "auto", "always", "never":
		return nil
	}
	wrong := u.color
	u.color = "never"
	return message.Usage("--color "+message.Typed(wrong)+": wrong value", "write auto, always or never")
}

// coloured reports whether text for w has colours. Sources: no-color.org; terminfo(5) for "dumb".
func (u *UI) coloured(w io.Writer) bool {
	switch u.color {
	case "always":
		return true
	case "auto":
		f, ok := w.(*os.File)
		return ok && terminal(f) && u.Getenv("NO_COLOR") == "" && u.Getenv("TERM") != "dumb"
	}
	return false
}

// SGR codes of ECMA-48.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// labels are words at the beginning of a line, or behind a place in a file, and their colours.
var labels = []struct{ word, colour string }{
	{"error:", red}, {"check:", red}, {"warning:", yellow}, {"info:", dim}, {"unknown:", yellow}, {"fix:", green},
	{"fixed:", green}, {"next:", dim}, {"hint:", green},
}

// endings are words that end a cell of a table.
var endings = []struct{ word, colour string }{{"] worse", red}, {"] better", green}}

// paint makes the first line of an answer bold, and colours the words that say how bad something
// is. They say it without colour too.
func paint(text string) string {
	var b strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		if body := strings.TrimSuffix(line, "\n"); i == 0 && body != "" {
			b.WriteString(bold + body + plain + line[len(body):])
			continue
		}
		b.WriteString(paintLine(line))
	}
	return b.String()
}

func paintLine(line string) string {
	start := len(line) - len(strings.TrimLeft(line, " "))
	for _, l := range labels {
		at := start
		if !strings.HasPrefix(line[start:], l.word+" ") {
			// file:3:5: error: ...
			i := strings.Index(line, ": "+l.word+" ")
			if i < 0 || strings.Contains(line[start:i], " ") {
				continue
			}
			at = i + 2
		}
		return line[:at] + l.colour + l.word + plain + line[at+len(l.word):]
	}
	for _, e := range endings {
		line = strings.ReplaceAll(line, e.word, "] "+e.colour+e.word[2:]+plain)
	}
	return line
}
