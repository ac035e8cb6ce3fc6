// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// unified returns the differences of two texts as diff -u prints them, without the carriage returns of line ends.
func unified(name, before, after string) string {
	_, text, _ := strings.Cut(string(diff.Diff(name, []byte(before), name, []byte(after))), "\n") // "diff NAME NAME"
	return strings.ReplaceAll(text, "\r\n", "\n")
}
