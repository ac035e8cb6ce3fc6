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
			SinceStart(f, g)
			if !f.GCShare.Known() || f.GCShare.N < c.want-1e-9 || f.GCShare.N > c.want+1e-9 {
				t.Errorf("%+v", f.GCShare)
			}
		})
	}
}

type classes struct{ gc, idle, user, scavenge time.Duration }

// TestEver: the group's counters count from 100 periods on, and only with a quota.
func TestEver(t *testing.T) {
	for _, c := range []struct {
		name          string
		quota         limits.Value[float64]
		periods, hits int64
		share         float64 // 0 = unknown
	}{
		{"throttled", limits.Of(0.15), 1000, 980, 0.98},
		{"three periods", limits.Of(0.15), 3, 3, 0},
		{"no quota any more", limits.NoLimit[float64](), 1000, 980, 0},
	} {
		l := &limits.Limits{}
		l.CPU.Quota, l.CPU.Throttle = c.quota, limits.Throttle{Periods: limits.Of(c.periods), Throttled: limits.Of(c.hits)}
		if f := Facts(&goproc.Facts{}, l); f.Ever.Known() != (c.share > 0) || f.Ever.N != c.share || f.Throttled.Known() {
			t.Errorf("%s: %+v", c.name, f.Ever)
		}
	}
}

// TestMissed: a runtime that has a P for each CPU under a quota has not followed it, whatever its release.
func TestMissed(t *testing.T) {
	of := func(quota float64, crashes bool) *limits.Limits {
		l := &limits.Limits{}
		l.CPU.Affinity = limits.Of(8)
		l.CPU.Levels = []limits.CPULevel{{Quota: limits.Of(quota), GoQuota: limits.Of(quota), CrashesGo: crashes}}
		l.CPU.RuntimeLevel = &l.CPU.Levels[0]
		return l
	}
	for _, c := range []struct {
		name         string
		l            *limits.Limits
		minor, procs int
		by           goproc.By
		want         string
		missed       bool
	}{
		{"found", of(3, false), 25, 3, goproc.ByRuntime, rules.ByRuntime, false},
		{"not found", of(3, false), 25, 8, goproc.ByRuntime, rules.ByHost, true},
		{"not found by a later Go", of(3, false), 26, 8, goproc.ByRuntime, rules.ByHost, true},
		{"no more CPUs than the quota", of(8, false), 25, 8, goproc.ByRuntime, rules.ByRuntime, false},
		{"alive under a quota that crashes", of(1<<31, true), 25, 8, goproc.ByRuntime, rules.ByHost, true},
		{"the program's own", of(3, false), 25, 8, goproc.ByCode, rules.ByCode, false},
		{"no limits", nil, 25, 8, goproc.ByRuntime, rules.ByRuntime, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &goproc.Facts{Env: map[string]string{}, CPUs: 8, GOMAXPROCSBy: goproc.Setter{By: c.by}}
			g.Exe.Minor = c.minor
			g.GOMAXPROCS.Know(c.procs, "")
			f, r := Facts(g, c.l), Row(g, c.l, nil)
			if f.ProcsBy != c.want || f.Missed != c.missed || *f.Aware == c.missed || r.GOMAXPROCSSource.N != c.want {
				t.Errorf("%+v, %+v", f, r.GOMAXPROCSSource)
			}
		})
	}
}

// TestMayInject: CRI-O gives GOMAXPROCS to containers without a quota.
func TestMayInject(t *testing.T) {
	const pods, id = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c3d4e_1111_2222_3333_444455556666.slice/", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	of := func(group string, requests ...float64) *limits.Limits {
		l := &limits.Limits{}
		l.CPU.Levels, l.CPU.RequestHints, l.CPU.Quota.State = []limits.CPULevel{{Source: limits.Source{Level: group}}}, requests, limits.None
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
