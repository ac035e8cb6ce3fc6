// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/plan"
)

type options = Options[plan.Round]

func TestOptions(t *testing.T) {
	all := options{
		Override: true, Round: plan.Nearest, MinProcs: 3, MaxProcs: 3, ReserveCPUs: 0.5, RequestFactor: 1.5,
		GOMEMLIMIT: "80%", Workers: 2, CPULimit: 4, CPURequest: 2, MemoryLimit: 1 << 30,
	}
	in, bad := all.Input()
	want := plan.Policy{
		Round: plan.Nearest, MinProcs: 3, MaxProcs: 3, ReserveCPUs: 0.5, RequestFactor: 1.5,
		Memory: plan.Memory{Percent: 80}, Workers: 2, Override: true,
	}
	if bad != nil || !reflect.DeepEqual(in.Policy, want) || !reflect.DeepEqual(in.Hints, plan.Hints{CPULimit: 4, CPURequest: 2, MemoryLimit: 1 << 30}) {
		t.Errorf("%v, policy %+v, hints %+v", bad, in.Policy, in.Hints)
	}
	in, bad = new(options).Input()
	if bad != nil || !reflect.DeepEqual(in.Policy, plan.Policy{}) || !reflect.DeepEqual(in.Hints, plan.Hints{}) {
		t.Errorf("the zero options: %v, policy %+v, hints %+v", bad, in.Policy, in.Hints)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{Round: 3}, "Options.Round is 3, want RoundUp, RoundDown or RoundNearest"},
		{options{MinProcs: -1}, "Options.MinProcs is -1, want 0 to 8192"},
		{options{MinProcs: 8193}, "Options.MinProcs is 8193, want 0 to 8192"},
		{options{MaxProcs: -2}, "Options.MaxProcs is -2, want 0 to 8192"},
		{options{MinProcs: 4, MaxProcs: 3}, "Options.MaxProcs is 3, want 0, or MinProcs (4) to 8192"},
		{options{ReserveCPUs: -0.5}, "Options.ReserveCPUs is -0.5, want 0 to 1000000 cores"},
		{options{RequestFactor: 1001}, "Options.RequestFactor is 1001, want 0 to 1000"},
		{options{GOMEMLIMIT: "12zb"}, `Options.GOMEMLIMIT is "12zb", want 400MiB, 90%, 99%-100MiB, off or ""`},
		{options{GOMEMLIMIT: "80"}, `Options.GOMEMLIMIT is "80", want 400MiB, `},
		{options{Workers: -1}, "Options.Workers is -1, want 0 to 8192"},
		{options{CPULimit: math.NaN()}, "Options.CPULimit is NaN, want 0 to 1000000 cores"},
		{options{CPURequest: math.Inf(1)}, "Options.CPURequest is +Inf, want 0 to 1000000 cores"},
		{options{MemoryLimit: -1}, "Options.MemoryLimit is -1, want 0 or more bytes"},
	} {
		if _, bad := c.o.Input(); bad == nil || !strings.HasPrefix(bad.Error(), "snug: "+c.want) {
			t.Errorf("%+v: %v, want %s", c.o, bad, c.want)
		}
	}
}
