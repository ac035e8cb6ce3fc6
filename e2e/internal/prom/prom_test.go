// SPDX-License-Identifier: Apache-2.0

package prom

import "testing"

func TestHurried(t *testing.T) {
	const rules = `
      - alert: A
        expr: rate(a[5m]) > 0 and last_over_time(b{c="[1]"}[7d]) > 1
        for: 15m
      - alert: B
        expr: c == 0
`
	const want = `
      - alert: A
        expr: rate(a[15s]) > 0 and last_over_time(b{c="[1]"}[15s]) > 1
        for: 3s
      - alert: B
        expr: c == 0
`
	if got := Hurried(t, rules, 3); got != want {
		t.Errorf("%s", got)
	}
}
