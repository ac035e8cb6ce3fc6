// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"testing"
	"time"
)

func TestParsePoll(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "1.5s": 1500 * time.Millisecond, "500ms": 500 * time.Millisecond, "1m30s": 90 * time.Second,
		"0.5m9s": 39 * time.Second, "1h": time.Hour, "10ms": 10 * time.Millisecond, "0h10ms": 10 * time.Millisecond,
		// 0 is invalid.
		"": 0, "9ms": 0, "0s": 0, "61m": 0, "1h1ms": 0, "1": 0, "1x": 0, "s": 0, "1s2": 0, "-1s": 0, "1S": 0, "1s ": 0,
		":s": 0, "/s": 0,
	} {
		d, ok := ParsePoll(text)
		if ok != (want != 0) || ok && d != want {
			t.Errorf("%q: %v, %v; want %v", text, d, ok, want)
		}
	}
}

func TestCheckPoll(t *testing.T) {
	for d, ok := range map[time.Duration]bool{
		0: true, MinPoll: true, time.Second: true, MaxPoll: true, MinPoll - 1: false, MaxPoll + 1: false, -time.Second: false,
	} {
		if bad := CheckPoll("Poll", d); (bad == nil) != ok {
			t.Errorf("%v: %v", d, bad)
		}
	}
}

func TestReadEnv(t *testing.T) {
	for _, c := range []struct {
		watch, poll string
		when        When
		want        time.Duration
		bad         int
	}{
		{"", "", Default, time.Minute, 0},
		{"on", "2s", Always, 2 * time.Second, 0},
		{"off", "", Never, time.Minute, 0},
		{"perhaps", "2", Default, time.Minute, 2},
	} {
		d := time.Minute
		env := map[string]string{"SNUG_WATCH": c.watch, "SNUG_POLL": c.poll}
		when, bad := ReadEnv(func(name string) string { return env[name] }, &d)
		if when != c.when || d != c.want || len(bad) != c.bad {
			t.Errorf("%+v: %v, %v, %v", c, when, d, bad)
		}
	}
}
