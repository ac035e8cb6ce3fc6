// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// rollout follows the page.
type rollout struct {
	*fleet
	console *console
	rows    []row
	before  map[string]string // a row's pods as stored without snug
	said    string            // output of the last command
	opened  int               // how often the API server had failed open when the pods were last right
	waves   []wave
}

// wave is a part of a rollout and its duration.
type wave struct {
	What    string  `json:"what"`
	Pods    int     `json:"pods_made"`
	Seconds float64 `json:"seconds"`
}

// chapter is a console block of the page, and the checks after its commands.
type chapter struct {
	section string
	only    string // readers it is for, if not all: policy or webhook
	not     string // why it is not run
	wave    string // name of a timed wave
	first   func(*rollout, *testing.T)
	then    func(*rollout, *testing.T)
}

const realNode = "an agent on a simulated node does not answer"

// chapters lists all console blocks of the page, in order.
var chapters = []chapter{
	{section: "1. Look", then: (*rollout).agents},
	{section: "1. Look", not: realNode},
	{section: "1. Look", not: realNode},
	{section: "1. Look", then: (*rollout).linted},
	{section: "1. Look", first: (*rollout).operator, then: (*rollout).untouched},

	{section: "2. Observe", only: "policy", then: (*rollout).observing},
	{section: "2. Observe", only: "webhook", then: (*rollout).observing},
	{section: "2. Observe", first: (*rollout).released, then: (*rollout).observed},
	{section: "2. Observe", then: (*rollout).tried},
	{section: "2. Observe", then: (*rollout).reasons},

	{section: "3. One namespace", then: (*rollout).notOptedIn},
	{section: "3. One namespace", wave: "one namespace", then: func(r *rollout, t *testing.T) { r.have(t, "cart") }},
	{section: "3. One namespace", then: (*rollout).counted},

	{section: "4. All, in waves", wave: "three more", then: func(r *rollout, t *testing.T) { r.have(t, "cart", "shop", "pay", "limited") }},
	{section: "4. All, in waves", then: func(r *rollout, t *testing.T) { r.inForceIn(t, "misc", "added: ") }},

	{section: "Roll back", then: func(r *rollout, t *testing.T) { r.inForceIn(t, "misc", "observed: ") }},
	{section: "Roll back", wave: "one namespace back", then: func(r *rollout, t *testing.T) { r.have(t, "shop", "pay", "limited") }},
	{section: "Roll back", wave: "three more back", then: func(r *rollout, t *testing.T) { r.have(t) }},
	{section: "Roll back", then: (*rollout).empty},
	{section: "Roll back", then: func(r *rollout, t *testing.T) { r.inForceIn(t, "misc", "") }},
	{section: "Roll back", then: (*rollout).gone},

	{section: "When something is down", not: "TestKilled runs it, where pods are missed"},
	{section: "When something is down", not: "TestKilled runs it, where pods are missed"},
}

// TestRollout follows docs/rollout.md literally, as the administrator of a cluster with policies
// and as that of one with the webhook.
func TestRollout(t *testing.T) {
	for _, by := range []string{"policy", "webhook"} {
		t.Run(by, func(t *testing.T) { follow(t, by) })
	}
}

func follow(t *testing.T, by string) {
	network, flags := egress(t)
	r := &rollout{fleet: newFleet(t, flags...), rows: unlabelled(size(t, 300)), before: map[string]string{}}
	r.fleet.kubelet(t, network)
	r.console = r.fleet.console(t, map[string]string{"snug": r.exe, "kubectl": kubebuild.Command(t, "kubectl"), "helm": kubebuild.Command(t, "helm4")})
	r.namespaces(t, false)
	begin := time.Now()
	pods := 0
	for i := range r.rows {
		r.create(t, &r.rows[i])
		pods += r.rows[i].pods
	}
	r.settled(t)
	r.waves = append(r.waves, wave{"all, without snug", pods, since(begin)})
	for key, all := range r.pods(t) {
		line, said := hook.Stored(all[0])
		if r.before[key] = line; said != "" {
			t.Fatalf("%s is annotated: %s", key, said)
		}
	}

	r.opened = r.failedOpen(t)
	blocks := page(t, "rollout.md")
	for i, c := range chapters {
		if i >= len(blocks) || blocks[i].section != c.section {
			t.Fatalf("block %d of the page is not in section %q: every block needs a chapter here", i, c.section)
		}
	}
	if len(blocks) > len(chapters) {
		t.Fatalf("the page has %d blocks, but there are %d chapters", len(blocks), len(chapters))
	}
	for i, c := range chapters {
		switch {
		case c.only != "" && c.only != by:
			continue
		case c.not != "":
			t.Logf("%s: not run, %s: %s", c.section, c.not, blocks[i].steps[0].command)
			continue
		}
		if c.first != nil {
			c.first(r, t)
		}
		begin := time.Now()
		for _, s := range blocks[i].steps {
			out, err := r.console.run(t, s.command)
			if err != nil {
				t.Fatal(err)
			}
			if s.prints != "" && !matches(out, s.prints) {
				t.Errorf("$ %s\nprints\n%s\nwant, from the page\n%s", s.command, out, s.prints)
			}
			t.Logf("$ %s\n%s", s.command, shortened(out))
			r.said = out
		}
		if c.then != nil {
			c.then(r, t)
		}
		if c.wave != "" {
			r.waves = append(r.waves, wave{c.wave, r.made(t, begin), since(begin)})
		}
		if t.Failed() {
			return
		}
	}
	record(t, "rollout-"+by, struct {
		machine
		By    string `json:"by"`
		Pods  int    `json:"pods"`
		Waves []wave `json:"waves"`
	}{thisMachine(), by, pods, r.waves})
}

// shortened returns an output in the form of the log.
func shortened(out string) string {
	lines := strings.SplitAfter(out, "\n")
	if len(lines) > 12 {
		return strings.Join(lines[:6], "") + fmt.Sprintf("... %d lines\n", len(lines)-12) + strings.Join(lines[len(lines)-6:], "")
	}
	return out
}

// settled waits until every row has exactly its pods, and all of them run.
func (r *rollout) settled(t *testing.T) {
	t.Helper()
	r.until(t, "every row has its pods", "/api/v1/pods", func(all map[string][]kube.Object) bool {
		return len(all[leaving]) == 0 && !slices.ContainsFunc(r.rows, func(w row) bool {
			pods := all[w.key()]
			return len(pods) != w.pods || slices.ContainsFunc(pods, func(p kube.Object) bool { return !running(p) })
		})
	})
}

// have checks that the pods of some namespaces have what is due, and all others what they had
// without snug. If the API server failed open, as on a machine too busy to answer in time, it
// replaces the missed pods, as the page says.
func (r *rollout) have(t *testing.T, in ...string) {
	t.Helper()
	for {
		r.settled(t)
		wrong := r.wrong(t, in)
		opened := r.failedOpen(t)
		if len(wrong) == 0 {
			r.opened = opened
			return
		}
		var said []string
		for key, what := range wrong {
			said = append(said, key+": "+what)
		}
		if slices.Sort(said); opened == r.opened {
			t.Fatal(strings.Join(said, "\n"))
		}
		t.Logf("the API server failed open %d times; replaced: %q", opened-r.opened, said)
		r.opened = opened
		for _, w := range r.rows {
			if wrong[w.key()] != "" {
				for _, verb := range []string{"restart", "status"} {
					r.kubectl(t, "--namespace", w.in, "rollout", verb, strings.ToLower(w.kind)+"/"+w.name)
				}
			}
		}
	}
}

// wrong returns the rows with a pod that differs from what is due, and the difference.
func (r *rollout) wrong(t *testing.T, in []string) map[string]string {
	t.Helper()
	all, wrong := r.pods(t), map[string]string{}
	for _, w := range r.rows {
		for _, p := range all[w.key()] {
			line, said := hook.Stored(p)
			want, note := r.before[w.key()], ""
			if slices.Contains(in, w.in) && w.fate != left {
				want, note = w.stored, "skipped: "
				if w.fate == given {
					note = "added: "
				}
			}
			if line != want || !strings.Contains(said, note) || strings.Contains(said, "added: ") != (note == "added: ") {
				wrong[w.key()] = fmt.Sprintf("%s: %s, %q; want %s, %q", name(p), line, said, want, note)
			}
		}
	}
	return wrong
}
