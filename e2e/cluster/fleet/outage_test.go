// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// size returns the number of pods of a fleet: SNUG_FLEET, or the default.
func size(t testing.TB, pods int) int {
	text := os.Getenv("SNUG_FLEET")
	if text == "" {
		return pods
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("SNUG_FLEET=%s, want a number of pods, at least 100", text)
	}
	return n
}

// outage is a webhook of two replicas and a fleet that is created through it.
type outage struct {
	*fleet
	service  *hook.Service
	replicas [2]*hook.Replica
	rows     []row
	before   int // earlier calls of the webhook that failed open
	ended    int
	begin    time.Time
	asker    *asker
}

func newOutage(t *testing.T, register func(testing.TB, *kube.Lab, string, *hook.Service, ...string)) *outage {
	o := &outage{fleet: newFleet(t), service: hook.NewService(t), rows: sized(size(t, 500))}
	o.namespaces(t, true)
	kube.Must(t, o.Create(t, "/api/v1/namespaces", kube.Object{"metadata": kube.Object{"name": hook.Namespace}}))
	register(t, o.Lab, o.exe, o.service)
	for i := range o.replicas {
		o.start(t, i)
	}
	o.inForce(t)
	o.before = o.failedOpen(t)
	o.asker = o.ask(t)
	o.begin = time.Now()
	return o
}

func (o *outage) start(t *testing.T, i int) {
	t.Helper()
	o.replicas[i] = hook.Start(t, o.exe, o.at, o.service, "--drain", "4s")
}

func (o *outage) kill(which ...int) {
	for _, i := range which {
		o.replicas[i].Kill()
		o.ended++
	}
}

// wait waits until this many pods of a row exist.
func (o *outage) wait(t *testing.T, r *row, pods int) {
	t.Helper()
	if r.kind == "CronJob" {
		return
	}
	// They are created in less than a second, and replicas must be killed in between.
	o.until(t, r.key()+" has its pods", "/api/v1/namespaces/"+r.in+"/pods?labelSelector=row%3D"+r.key(), func(all map[string][]kube.Object) bool { return len(all[r.key()]) >= pods })
}

// all waits until every pod runs, and returns the outcome.
func (o *outage) all(t *testing.T, run string) *outcome {
	t.Helper()
	o.until(t, "every pod runs", "/api/v1/pods", func(all map[string][]kube.Object) bool {
		if len(all[leaving]) > 0 {
			return false
		}
		for i := range o.rows {
			n := 0
			for _, p := range all[o.rows[i].key()] {
				if running(p) {
					n++
				}
			}
			if n < o.rows[i].pods {
				return false
			}
		}
		return true
	})
	seconds := since(o.begin)
	o.asker.end()
	out := o.look(t, run, o.rows)
	out.Seconds, out.Ended = seconds, o.ended
	out.addAsker(o.asker)
	return out
}

// TestRolled: replicas that restart one after the other, as in an update of their Deployment, miss
// no pod of any kind.
func TestRolled(t *testing.T) {
	o := newOutage(t, hook.Register)
	for i := range o.rows {
		o.create(t, &o.rows[i])
		o.replicas[i%2].Stop(t)
		o.ended++
		o.start(t, i%2)
		o.wait(t, &o.rows[i], o.rows[i].pods)
	}
	out := o.all(t, "rolled: two replicas told to end one after the other, once for each workload")
	if out.Missed+out.Unsaid+out.AskedMissed > 0 {
		t.Errorf("%d and %d pods and %d dry runs were missed: %q\n%s\n%s", out.Missed, out.Unsaid, out.AskedMissed, append(out.missed, out.unsaid...), o.replicas[0].Said(), o.replicas[1].Said())
	}
	record(t, "rolled", out)
}

// killings creates the fleet with replicas down in four ways: one killed while pods are created;
// both killed before a workload is created, so that none of its pods gets an answer; both killed
// while pods are created; both frozen, which is worse, because they accept requests and answer
// after the API server has given up.
func (o *outage) killings(t *testing.T) {
	t.Helper()
	for i := range o.rows {
		r := &o.rows[i]
		switch i % 4 {
		case 0:
			o.create(t, r)
			o.wait(t, r, r.pods/4)
			o.kill(i / 4 % 2)
			o.wait(t, r, r.pods/2)
			o.start(t, i/4%2)
		case 1:
			o.kill(0, 1)
			o.create(t, r)
			o.wait(t, r, r.pods)
			o.start(t, 0)
			o.start(t, 1)
		case 2:
			o.create(t, r)
			o.wait(t, r, r.pods/4)
			o.kill(0, 1)
			o.wait(t, r, r.pods/2)
			o.start(t, 0)
			o.start(t, 1)
		case 3:
			o.create(t, r)
			o.wait(t, r, r.pods/4)
			for _, replica := range o.replicas {
				replica.Freeze(t)
			}
			o.wait(t, r, r.pods/2)
			for _, replica := range o.replicas {
				replica.GoOn(t)
			}
		}
		o.wait(t, r, r.pods)
	}
}

// TestKilled: a webhook that is killed or frozen costs no pod. With failurePolicy Ignore, a pod
// created without an answer is missed, and the API server counts it. docs/rollout.md says how to
// find and heal missed pods.
func TestKilled(t *testing.T) {
	o := newOutage(t, hook.RegisterHurried)
	o.killings(t)
	out := o.all(t, "killed: two replicas killed or silent, one or both, while workloads are created")
	if out.Missed == 0 || out.Missed+out.Unsaid == out.Pods-out.Left {
		t.Errorf("%d of %d pods were missed: the webhook was not killed or not started", out.Missed, out.Pods)
	}
	if out.FailedOpen -= o.before; out.FailedOpen != out.Missed+out.Unsaid+out.AskedMissed {
		t.Errorf("the API server failed open %d times; %d and %d pods and %d dry runs were missed", out.FailedOpen, out.Missed, out.Unsaid, out.AskedMissed)
	}
	record(t, "killed", out)
	t.Run("found and healed", func(t *testing.T) { o.healed(t, out) })
}

// healed: the commands of docs/rollout.md find exactly the missed pods. After another rollout of
// their workloads, only pods of Jobs are missed.
func (o *outage) healed(t *testing.T, out *outcome) {
	c := o.console(t, map[string]string{"kubectl": kubebuild.Command(t, "kubectl")})
	var inNamespace, byLabel string
	for _, b := range page(t, "rollout.md") {
		for _, s := range b.steps {
			switch {
			case b.section != "When something is down":
			case strings.Contains(s.command, "--namespace cart"):
				inNamespace = s.command
			default:
				byLabel = s.command
			}
		}
	}
	find := func() []string {
		found := map[string]bool{}
		ask := func(command string, name func(line []string) string) {
			printed, err := c.run(t, command)
			if err != nil && printed != "" {
				t.Fatal(err)
			}
			for line := range strings.Lines(printed) {
				found[name(strings.Fields(line))] = true
			}
		}
		for in, label := range namespaces {
			if label == "enabled" {
				ask(strings.ReplaceAll(inNamespace, "--namespace cart", "--namespace "+in), func(line []string) string { return in + "/" + line[0] })
			}
		}
		ask(byLabel, func(line []string) string { return line[0] + "/" + line[1] })
		return slices.Sorted(maps.Keys(found))
	}
	if found, want := find(), slices.Sorted(slices.Values(append(out.missed, out.unsaid...))); !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	// missed returns the missed pods of a row.
	missed := func(r *row) (names []string) {
		for _, p := range o.pods(t)[r.key()] {
			if _, said := hook.Stored(p); said == "" && r.fate != left {
				names = append(names, name(p))
			}
		}
		return names
	}
	var after *outcome
	var rest []string
	// Repeat if the API server failed open meanwhile, as on a machine too busy to answer in time.
	for opened := -1; opened != o.failedOpen(t); {
		opened = o.failedOpen(t)
		var restarted []*row
		for i := range o.rows {
			if r := &o.rows[i]; !ends(r.kind) && len(missed(r)) > 0 {
				restarted = append(restarted, r)
			}
		}
		for _, verb := range []string{"restart", "status"} {
			for _, r := range restarted {
				o.kubectl(t, "--namespace", r.in, "rollout", verb, strings.ToLower(r.kind)+"/"+r.name)
			}
		}
		after, rest = o.all(t, ""), nil
		for i := range o.rows {
			if r := &o.rows[i]; ends(r.kind) {
				rest = append(rest, missed(r)...)
			}
		}
	}
	slices.Sort(rest)
	if found := find(); after.Missed+after.Unsaid != len(rest) || !slices.Equal(found, rest) {
		t.Errorf("still missed after a rollout: %q, %q, found %q; of Jobs %q", after.missed, after.unsaid, found, rest)
	}
}

// ends reports whether the pods of a kind complete, so that they cannot be replaced.
func ends(kind string) bool { return kind == "Job" || kind == "CronJob" }

// TestKilledBesidePolicies: with the policies too, from Kubernetes 1.36 on, no pod is missed while
// the webhook is down.
func TestKilledBesidePolicies(t *testing.T) {
	o := newOutage(t, hook.RegisterHurried)
	o.policies(t)
	o.killings(t)
	out := o.all(t, "killed beside policies: as killed, with the admission policies of snug policy in force")
	if out.Missed > 0 || out.AskedMissed > 0 {
		t.Errorf("%d pods and %d dry runs were missed: %q", out.Missed, out.AskedMissed, out.missed)
	}
	if out.FailedOpen == 0 {
		t.Error("the webhook was never down")
	}
	record(t, "killed-beside-policies", out)
}

// policies installs the tool's policies. It kills the webhook meanwhile, to see that they are in
// force.
func (o *outage) policies(t *testing.T) {
	t.Helper()
	o.asker.end()
	text, err := exec.CommandContext(t.Context(), o.exe, "policy").Output()
	if err != nil {
		t.Fatal(err)
	}
	o.Apply(t, strings.TrimSpace(string(text)))
	o.kill(0, 1)
	o.inForce(t)
	o.start(t, 0)
	o.start(t, 1)
	o.asker = o.ask(t)
	o.begin = time.Now()
}
