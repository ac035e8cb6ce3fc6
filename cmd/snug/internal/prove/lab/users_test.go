// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strings"
	"testing"
	"time"
)

func TestParseUsers(t *testing.T) {
	for text, want := range map[string]string{
		"30": "30 users", "10000": "10000 users", "30..100/2m": "30..100 users in 2m", "100..30/90s": "100..30 users in 1m30s", "5..5/10s": "5..5 users in 10s",
	} {
		if got, err := parseUsers(text); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"0": "whole numbers", "30/2m": "whole numbers", "": "whole numbers", "30..100": "such as 30..100/2m", "30../2m": "from and to",
		"..100/2m": "from and to", "0..5/2m": "from and to", "1..10001/2m": "from and to", "30..100/fast": "over a time", "30..100/": "over a time",
		"30..100/9s": "over 10s or more", "30..100/2h": "over 10s or more", "30..100/-1m": "over 10s or more",
	} {
		if got, err := parseUsers(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestRampFlags(t *testing.T) {
	b := parsed(t, "--users 30..100/2m")
	if err := b.complete(); err != nil || b.window != 2*time.Minute || b.Sweep.Loads[0] != "30..100 users in 2m" || b.objective != "auto" {
		t.Errorf("%v, window %s, loads %q, objective %s", err, b.window, b.Sweep.Loads, b.objective)
	}
	for flags, want := range map[string]string{
		"--users 30..100/2m,30":              "a ramp beside another load",
		"--users 30..100/2m --load 50%":      "a ramp beside another load",
		"--users 30..100/2m --window 4s":     "a ramp has its own window",
		"--users 30..100/2m --objective p99": "latency of a closed loop is not compared",
		"--users 30..100/2m --full":          "it has its own loads",
		"--users 30..100/2m --workload fib":  "a load for a program that is not a service",
	} {
		b := parsed(t, flags)
		if err := b.complete(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", flags, err, want)
		}
	}
	if b := parsed(t, "--users 30..100/2m --objective rps"); b.complete() != nil || b.objective != "rps" {
		t.Error("a ramp has a throughput")
	}
}
