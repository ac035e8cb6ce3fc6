// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/limits"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
)

// TestSinceStart: the runtime's CPU classes end with the last collection, and what ran
// after it counts too.
func TestSinceStart(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name string
		cpu  time.Duration // the kernel's
		classes
		want float64
	}{
		{"the last collection is just over", 100 * s, classes{gc: 30 * s, user: 70 * s}, 0.3},
		{"idle marking is no cost", 100 * s, classes{gc: 40 * s, idle: 10 * s, user: 70 * s}, 0.3},
		{"one at the start, and none since", 3 * s, classes{gc: 60 * s / 1000, user: 20 * s / 1000}, 0.02},
		{"CPU was short: the classes have more than the kernel", 10 * s, classes{gc: 25 * s, user: 75 * s}, 0.25},
		{"given back", 100 * s, classes{gc: 10 * s, user: 50 * s, scavenge: 20 * s}, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &goproc.Facts{}
			g.Stat.CPU = c.cpu
			g.CPU.State = limits.Known
			g.CPU.N = goproc.CPUClasses{GCTotal: c.gc, GCIdle: c.idle, User: c.user, Scavenge: c.scavenge}
			f := &rules.Facts{}
			SinceStart(f, g, nil)
			if !f.GCShare.Known() || f.GCShare.N < c.want-1e-9 || f.GCShare.N > c.want+1e-9 {
				t.Errorf("%+v", f.GCShare)
			}
		})
	}
}

type classes struct{ gc, idle, user, scavenge time.Duration }

// TestMayInject: CRI-O gives GOMAXPROCS to containers without a quota.
func TestMayInject(t *testing.T) {
	const pods, id = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c3d4e_1111_2222_3333_444455556666.slice/", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	of := func(group string, requests ...float64) *limits.Limits {
		l := &limits.Limits{}
		l.CPU.Levels, l.CPU.Requests, l.CPU.Quota.State = []limits.CPULevel{{Source: limits.Source{Level: group}}}, requests, limits.None
		return l
	}
	crio := pods + "crio-" + id + ".scope"
	limited := of(crio, .5)
	limited.CPU.Quota = limits.Of(4.0)
	for _, c := range []struct {
		name string
		l    *limits.Limits
		n    int
		want bool
	}{
		{"the request", of(crio, 1.5), 2, true},
		{"twice the request, or a minimum", of(crio, 1.5), 3, true},
		{"crun's group in the scope", of(crio+"/container", 2.5, 1, 0), 1, true},
		{"less than the request", of(crio, 1.5), 1, false},
		{"best effort", of(strings.ReplaceAll(crio, "burstable", "besteffort")), 1, true},
		{"guaranteed", of(strings.ReplaceAll(strings.Replace(crio, "kubepods-burstable.slice/", "", 1), "-burstable", ""), .5), 1, false},
		{"a quota", limited, 1, false},
		{"containerd", of(pods+"cri-containerd-"+id+".scope", .5), 1, false},
		{"no group", &limits.Limits{}, 1, false},
	} {
		if got := mayInject(c.l, c.n); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestShim: a shim has the GOMAXPROCS that containerd gives it; other programs are judged.
func TestShim(t *testing.T) {
	for path, judged := range map[string]bool{"/usr/bin/containerd-shim-runc-v2": false, "/usr/bin/containerd": true, "/bin/server": true} {
		g := &goproc.Facts{Path: path, GOMAXPROCS: figure.New(4, ""), GOMAXPROCSBy: goproc.Setter{By: goproc.ByEnvironment}, CPUs: 2}
		if f := Facts(g, nil); f.Procs.Known() != judged {
			t.Errorf("%s: %+v", path, f.Procs)
		}
	}
}
