// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// FlagError turns an error of the flag library into one of snug's own. path is the command with
// the names before it, flags are those it has.
func FlagError(path string, flags *pflag.FlagSet, err error) error {
	help := path + " --help lists the flags"
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		hint := "write " + invalid.Unwrap().Error()
		switch invalid.GetFlag().Value.Type() {
		case "bool":
			hint = "write --" + invalid.GetFlag().Name + " alone"
		case "int":
			hint = "write a whole number"
		}
		return message.Usage("--"+invalid.GetFlag().Name+" "+message.Typed(invalid.GetValue())+": wrong value", hint)
	case errors.As(err, &missing):
		return message.Usage("--"+missing.GetFlag().Name+": value missing", help)
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return message.Usage("-"+message.Cut(name, message.MaxShown)+": unknown flag", help)
		}
		var names []string
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return message.Usage("--"+message.Cut(name, message.MaxShown)+": unknown flag", DidYouMean("--", name, names, help))
	}
	return message.Usage(err.Error(), help)
}

// NoArgs returns an error if there are arguments. path is the command with the names before it.
func NoArgs(path string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return message.Usage(path+" "+message.Typed(args[0])+": takes no argument", path+" --help")
}

// UnknownCommand returns the error for a word that is none of the commands of path.
func UnknownCommand(path, word string, commands []string) error {
	return message.Usage(message.Typed(word)+": unknown command",
		DidYouMean(path+" ", word, commands, path+" --help lists them"))
}

// DidYouMean returns a hint: the names like word, each with what stands before it, or otherwise if
// there are none.
func DidYouMean(before, word string, names []string, otherwise string) string {
	like := Like(word, names)
	if len(like) == 0 {
		return otherwise
	}
	return "did you mean " + before + strings.Join(like, " or "+before) + "?"
}

// Like returns the names that a mistyped word may stand for, at most three: at most two letters,
// and at most half of them, differ, or the word begins the name, or differs in one letter from its
// first part (cpus, cpu-limit).
func Like(word string, names []string) (like []string) {
	if word == "" || len(word) > message.MaxShown { // a prefix of every name, or no typing error
		return nil
	}
	word = strings.ToLower(word)
	for _, name := range names {
		lower := strings.ToLower(name)
		first, _, parts := strings.Cut(lower, "-")
		if !strings.Contains(name, " ") && (strings.HasPrefix(lower, word) || distance(word, lower) <= min(2, len(word)/2) ||
			parts && len(word) > 2 && distance(word, first) <= 1) {
			like = append(like, name)
		}
	}
	return like[:min(len(like), 3)]
}

// distance is Levenshtein's: how many letters to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// EmptyWord returns the error for an empty argument.
func EmptyWord(where string) error {
	return message.Usage(where+": empty argument", "is a variable unset? write a name, or leave it out")
}
