// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// rampRounds is the number of rounds of a ramp: its course is a picture, and each run is long.
const rampRounds = 3

// AddUsers defines --users: closed loops with a number of users, or one in which it changes.
func (b *Bench) AddUsers(fs *pflag.FlagSet) {
	fs.Var(&flagvalue.Parsed{Take: func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			load, err := parseUsers(strings.TrimSpace(part))
			if err != nil {
				return err
			}
			if !slices.Contains(b.Users, load) {
				b.Users = append(b.Users, load)
			}
		}
		return nil
	}}, "users",
		"closed loops with the numbers of users in `LIST`, such as 30,50,100, or one whose number changes: 30..100/2m")
}

// parseUsers returns the load of a number of users such as 30, or of a ramp such as 30..100/2m.
func parseUsers(text string) (string, error) {
	number := func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 1 && n <= finding.MaxUsers
	}
	users, over, timed := strings.Cut(text, "/")
	from, to, ramp := strings.Cut(users, "..")
	if !ramp {
		n, ok := number(users)
		if !ok || timed {
			return "", errors.New("whole numbers from 1 to 10000, separated by commas, or a ramp such as 30..100/2m")
		}
		return strconv.Itoa(n) + " users", nil
	}
	var r finding.Ramp
	var ok, ok2 bool
	r.From, ok = number(from)
	r.To, ok2 = number(to)
	switch d, err := time.ParseDuration(over); {
	case !ok || !ok2:
		return "", errors.New("a ramp from and to a whole number of users from 1 to 10000, such as 30..100/2m")
	case !timed:
		return "", fmt.Errorf("a ramp with the time that it takes, such as %s/2m", users)
	case err != nil:
		return "", fmt.Errorf("a ramp over a time from 10s to 1h, such as %s/2m", users)
	case d < finding.ShortRamp || d > finding.LongRamp:
		return "", fmt.Errorf("a ramp over 10s or more, up to 1h, such as %s/2m", users)
	default:
		r.Over = d
	}
	return r.String(), nil
}

// ramp returns the load whose number of users changes, if there is one.
func (b *Bench) ramp() (finding.Ramp, bool) {
	for _, load := range b.Sweep.Loads {
		if r, ok := finding.ParseRamp(load); ok {
			return r, true
		}
	}
	return finding.Ramp{}, false
}

// checkRamp rejects flags that a ramp would ignore, and sets its window.
func (b *Bench) checkRamp() error {
	r, ok := b.ramp()
	switch {
	case !ok:
		return nil
	case len(b.Sweep.Loads) > 1:
		return message.Usage("--users or --load: a ramp beside another load",
			"measure the ramp alone: it has a window of its own")
	case b.loadCmd != "":
		return message.Usage("--load-cmd with a ramp: a load command has its own users",
			"give numbers of users, such as --users 30,100: the command reads SNUG_USERS")
	case b.window != 0:
		return message.Usage("--window with --users: a ramp has its own window",
			fmt.Sprintf("leave --window out: the ramp takes %s", r.Over))
	}
	b.window = r.Over
	return nil
}
