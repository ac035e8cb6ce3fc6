// SPDX-License-Identifier: Apache-2.0

// Package flagvalue holds the types of flag values. A value is parsed as soon as it is read,
// so that the error names the flag and the values it accepts.
package flagvalue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/internal/plan"
)

// Text is the name of a file or a directory. It must not be empty: an empty name usually
// comes from an unset shell variable, and ignoring it would answer for the wrong machine.
type Text string

func (t *Text) String() string { return string(*t) }

func (t *Text) Type() string { return "" }

func (t *Text) Set(text string) error {
	if text == "" {
		return errors.New("a name that is not empty")
	}
	*t = Text(text)
	return nil
}

// PID is a process number; 0 = not given.
type PID int

func (p *PID) String() string { return strconv.Itoa(int(*p)) }

func (p *PID) Type() string { return "N" }

func (p *PID) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("a process number from 1 to 2147483647")
	}
	*p = PID(n)
	return nil
}

// Span is a duration.
type Span time.Duration

func (s *Span) String() string { return time.Duration(*s).String() }

func (s *Span) Type() string { return "duration" }

func (s *Span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("a duration such as 10s or 2m")
	}
	*s = Span(d)
	return nil
}

// Parsed is a flag whose text is parsed at once, so that the error names it. Its value is
// used later and wins over that of its variable.
type Parsed struct {
	text  string
	given []string
	Take  func(text string) error
}

// Given returns the texts of the flag, in the order in which they were given.
func (v *Parsed) Given() []string { return v.given }

func (v *Parsed) String() string { return v.text }

func (v *Parsed) Type() string { return "" }

func (v *Parsed) Set(text string) error {
	v.text = text
	v.given = append(v.given, text)
	return v.Take(text)
}

// ParseGOGC parses a percentage or off.
func ParseGOGC(text string) (int, bool) {
	if text == "off" {
		return plan.Off, true
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n >= 1
}

// Define adds a flag that stores its value in *to. want says which values it accepts.
func Define[T any](fs *pflag.FlagSet, name, usage, want string, parse func(string) (T, bool), to *T) {
	fs.Var(&Parsed{Take: func(text string) error {
		v, ok := parse(text)
		if !ok {
			return errors.New(want)
		}
		*to = v
		return nil
	}}, name, usage)
}

// DefineList adds a flag that accepts values separated by commas and may be repeated.
// Duplicates are dropped.
func DefineList[T comparable](fs *pflag.FlagSet, name, usage, want string, parse func(string) (T, bool), to *[]T) {
	fs.Var(&Parsed{Take: func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			v, ok := parse(strings.TrimSpace(part))
			if !ok {
				return fmt.Errorf("%s, separated by commas", want)
			}
			if !slices.Contains(*to, v) {
				*to = append(*to, v)
			}
		}
		return nil
	}}, name, usage)
}
