// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

func TestParseSet(t *testing.T) {
	for text, want := range map[string]finding.Knobs{
		"GOGC=off,GOMEMLIMIT=124MiB":          {GOGC: "off", GOMEMLIMIT: "124MiB"},
		"GOMAXPROCS=2 GOGC=400":               {GOMAXPROCS: "2", GOGC: "400"},
		"GOMEMLIMIT=1G":                       {GOMEMLIMIT: "1000000000B"},
		"":                                    {},
		"GOGC":                                {},
		"GOGC=0":                              {},
		"GOMAXPROCS=0":                        {},
		"GOMEMLIMIT=90%":                      {},
		"GODEBUG=gctrace=1":                   {},
		"GOGC=100,PATH=/bin":                  {},
		"GOMAXPROCS=default,GOMEMLIMIT=64MiB": {},
	} {
		if got, ok := parseSet(text); got != want || ok != (want != finding.Knobs{}) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, ok, want)
		}
	}
}
