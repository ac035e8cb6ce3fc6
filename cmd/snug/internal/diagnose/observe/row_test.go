// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"reflect"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// TestRowLimits: a limit, none and unknown stay apart, and a level that cannot be read is listed
// also beside a limit of another level.
func TestRowLimits(t *testing.T) {
	const why = "permission denied"
	gap := limits.Gap{Field: "cpu.quota_cores", File: "/cpu.max", Why: why}
	listed := finding.Gap{Field: "quota_cores", File: "/cpu.max", Why: why}
	for _, c := range []struct {
		name        string
		quota       limits.Value[float64]
		unread      []limits.Gap
		known, read bool
		want        []finding.Gap
	}{
		{"a quota", limits.Of(2.0), nil, true, true, nil},
		{"a quota, and a level unread", limits.Of(2.0), []limits.Gap{gap}, true, true, []finding.Gap{listed}},
		{"none, and another mount unread", limits.NoLimit[float64](), []limits.Gap{{Field: gap.Field, File: "/x", Why: why, Redundant: true}}, false, true, nil},
		{"none", limits.NoLimit[float64](), nil, false, true, nil},
		{"unread", limits.Value[float64]{}, []limits.Gap{gap}, false, false, []finding.Gap{listed}},
	} {
		l := &limits.Limits{Gaps: c.unread}
		l.CPU.Quota, l.Memory.Hard = c.quota, limits.NoLimit[int64]()
		r := Row(&goproc.Facts{Pid: 7}, l, nil)
		var got []finding.Gap
		for _, g := range r.Unknown {
			if g.Field == "quota_cores" || g.Field == "memory_limit_bytes" {
				got = append(got, g)
			}
		}
		if r.Quota.Known() != c.known || r.Quota.Read() != c.read || !reflect.DeepEqual(got, c.want) || !r.MemoryLimit.Read() {
			t.Errorf("%s: %+v, %+v", c.name, r.Quota, got)
		}
	}
	r := Row(&goproc.Facts{Pid: 7}, nil, nil)
	if r.Quota.Read() || r.MemoryLimit.Read() || r.Quota.Why != "the process has ended" {
		t.Errorf("without limits: %+v", r.Quota)
	}
}
