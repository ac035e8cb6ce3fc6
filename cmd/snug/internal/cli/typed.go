// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

const (
	// mostShown is how much of what was typed a message repeats, in bytes.
	mostShown = 200
	// mostTalk is how long a line of an error or a hint gets, in bytes.
	mostTalk = 2000
)

// typed is what was typed as a message repeats it: each word as a shell would read it
// back, an empty one in quotes. It ends where it gets long.
func typed(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if len(w) > mostShown {
			return strings.Join(append(quoted[:i], cut(w, mostShown)), " ")
		}
		quoted[i] = shellQuote(w)
	}
	return cut(strings.Join(quoted, " "), mostShown)
}

// cut is text of about so many bytes at most; what is cut off is counted.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "... (" + strconv.Itoa(len(text)) + " bytes)"
}

// refuseEmpty makes a command refuse words that are empty: a variable that is not set is
// not meant to name something.
func refuseEmpty(given cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if given != nil {
			if err := given(cmd, args); err != nil {
				return err
			}
		}
		if i := slices.Index(args, ""); i >= 0 {
			return emptyWord(cmd.CommandPath() + " " + typed(args[:i+1]...))
		}
		return nil
	}
}

func emptyWord(where string) error {
	return usage("an empty word, "+where, "is a variable not set? write a name, or leave it out")
}
