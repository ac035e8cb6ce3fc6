// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

func TestParseSet(t *testing.T) {
	for text, want := range map[string]setting{
		"GOGC=off,GOMEMLIMIT=124MiB":              {finding.Knobs{GOGC: "off"}, plan.Memory{Bytes: 124 << 20}},
		"GOMAXPROCS=2 GOGC=400":                   {finding.Knobs{GOMAXPROCS: "2", GOGC: "400"}, plan.Memory{}},
		"GOMEMLIMIT=1G":                           {finding.Knobs{}, plan.Memory{Bytes: 1_000_000_000}},
		"GOMEMLIMIT=90%":                          {finding.Knobs{}, plan.Memory{Percent: 90}},
		"MODE=fast":                               {finding.Knobs{Vars: "MODE=fast"}, plan.Memory{}},
		"MODE=fast,GOGC=200,A=1":                  {finding.Knobs{GOGC: "200", Vars: "A=1\x00MODE=fast"}, plan.Memory{}},
		"PARTS=memory,gc,cpu,GOGC=50":             {finding.Knobs{GOGC: "50", Vars: "PARTS=memory,gc,cpu"}, plan.Memory{}},
		"GODEBUG=madvdontneed=0,gcstoptheworld=1": {finding.Knobs{Vars: "GODEBUG=madvdontneed=0,gcstoptheworld=1"}, plan.Memory{}},
		"":                                    {},
		"GOGC":                                {},
		"GOGC=0":                              {},
		"GOMAXPROCS=0":                        {},
		"GOMEMLIMT=124MiB":                    {},
		"MODE=":                               {},
		"fast,MODE=fast":                      {},
		"2X=1":                                {},
		"GOMAXPROCS=default,GOMEMLIMIT=64MiB": {},
	} {
		got, ok := parseSet(text)
		if got != want || ok != (want != setting{}) {
			t.Errorf("--set %q: %+v, %t, want %+v", text, got, ok, want)
		}
	}
}
