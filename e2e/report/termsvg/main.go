// SPDX-License-Identifier: Apache-2.0

// Termsvg draws the output of a command as a picture of a terminal: text on stdin, SVG on stdout,
// the command line as its argument.
//
//	snug ps | go run ./e2e/report/termsvg 'snug ps' >docs/ps.svg
package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	charWidth  = 7.85 // of 13 px in most monospaced fonts
	lineHeight = 19
	margin     = 18
	bar        = 34
)

func main() {
	command := strings.Join(os.Args[1:], " ")
	if err := draw(os.Stdout, os.Stdin, command); err != nil {
		fmt.Fprintln(os.Stderr, "termsvg:", err)
		os.Exit(1)
	}
}

func draw(w io.Writer, r io.Reader, command string) error {
	lines := []string{}
	for s := bufio.NewScanner(r); s.Scan(); {
		lines = append(lines, s.Text())
	}
	widest := utf8.RuneCountInString(command) + 2
	for _, l := range lines {
		widest = max(widest, utf8.RuneCountInString(l))
	}
	width, height := int(float64(widest)*charWidth)+2*margin, bar+(len(lines)+2)*lineHeight+margin/2
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="output of %s">
<rect width="100%%" height="100%%" rx="9" fill="#16191f"/>
<g fill="#3a404c"><circle cx="22" cy="18" r="6"/><circle cx="42" cy="18" r="6"/><circle cx="62" cy="18" r="6"/></g>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13" fill="#d8dee9">
`, width, height, width, height, escape(command))
	y := bar + lineHeight
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\"><tspan fill=\"#8fbcbb\">$ </tspan><tspan font-weight=\"bold\">%s</tspan></text>\n", margin, y, escape(command))
	for _, l := range lines {
		y += lineHeight
		fill := ""
		switch {
		case strings.HasPrefix(l, "PID "):
			fill = ` fill="#9aa5b8"`
		case strings.Contains(l, "error: "):
			fill = ` fill="#ff8a80"`
		case strings.Contains(l, "warning: "):
			fill = ` fill="#ffcf6b"`
		}
		if l == "" {
			continue
		}
		fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\"%s textLength=\"%d\" lengthAdjust=\"spacing\">%s</text>\n",
			margin, y, fill, int(float64(utf8.RuneCountInString(l))*charWidth), escape(l))
	}
	fmt.Fprint(out, "</g>\n</svg>\n")
	return out.Flush()
}

// escape preserves runs of blanks, which SVG would collapse.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s))
	return strings.ReplaceAll(b.String(), " ", "\u00a0")
}
