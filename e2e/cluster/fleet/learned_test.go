// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// measured is a workload, what was measured of its container a, and what its pods get by that.
type measured struct {
	row
	peak string // bytes and seconds, as snug cluster learn reads them; "" = not measured
	used string // as the annotation snug.dev/added lists it; "" = nothing, because it is not opted in
}

const (
	share = "a GOMEMLIMIT=460MiB (pod-memory-share)"
	two   = "containers: [{name: a, image: x, " + limited + "}, {name: b, image: x, " + limited + "}]"
)

// allMeasured are the rows of TestLearned, with a limit of 512 MiB: it leaves room for the peak and for a quarter of it, at least
// 8 MiB, within the bounds of docs/cluster.md.
var allMeasured = []measured{
	{row{"Deployment", "shop", "web", 100, "", one, given, ""}, "200MiB 3600", "a GOMEMLIMIT=262MiB (pod-memory-learned)"},
	{row{"Deployment", "shop", "cache", 50, "", one, given, ""}, "10MiB 604800", "a GOMEMLIMIT=486MiB (pod-memory-learned)"}, // half of the share's headroom stays
	{row{"Deployment", "shop", "young", 30, "", one, given, ""}, "10MiB 3600", "a GOMEMLIMIT=460MiB (pod-memory-learned)"},   // less than a week
	{row{"Deployment", "cart", "full", 30, "", one, given, ""}, "450MiB 3600", "a GOMEMLIMIT=230MiB (pod-memory-learned)"},   // half of the share
	{row{"Deployment", "cart", "web", 40, "", one, given, ""}, "", share},                                                    // its namesake was measured
	{row{"Deployment", "cart", "two", 30, "", two, given, ""}, "100MiB 3600", "a GOMEMLIMIT=387MiB (pod-memory-learned); b GOMEMLIMIT=460MiB (pod-memory-share)"},
	{row{"StatefulSet", "pay", "queue", 10, "", one, given, ""}, "150MiB 604800", "a GOMEMLIMIT=324MiB (pod-memory-learned)"},
	{row{"Deployment", "misc", "out", 10, "", one, left, ""}, "200MiB 3600", ""},
}

// TestLearned: with the policies and learned: use, every pod of a rollout gets what was measured of its workload allows, and
// the share where nothing was measured; with off again, new pods get the share. The commands are those of docs/cluster.md.
func TestLearned(t *testing.T) {
	r := &rollout{fleet: newFleet(t)}
	r.KeepParams(t)
	c := r.fleet.console(t, map[string]string{"snug": r.exe, "kubectl": kubebuild.Command(t, "kubectl"), "helm": kubebuild.Command(t, "helm4")})
	run := func(command string) {
		t.Helper()
		if _, err := c.run(t, command); err != nil {
			t.Fatal(err)
		}
	}
	r.namespaces(t, true)
	var lines strings.Builder
	off, use := map[string]string{}, map[string]string{}
	pods := 0
	for _, m := range allMeasured {
		if m.peak != "" {
			fmt.Fprintln(&lines, m.in, m.kind, m.name, "a", m.peak)
		}
		if use[m.key()] = m.used; m.fate == given {
			off[m.key()] = share
		}
		if m.spec == two {
			off[m.key()] += "; b" + share[1:]
		}
		r.rows = append(r.rows, m.row)
		pods += m.pods
	}
	if err := os.WriteFile(filepath.Join(c.dir, "rows.txt"), []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	const config = "/api/v1/namespaces/snug/configmaps/snug-learned"

	run("helm install snug deploy/helm/snug --namespace snug --create-namespace --set agent.enabled=false,policy.enabled=true")
	r.decides(t, off)
	begin := time.Now()
	for i := range r.rows {
		r.create(t, &r.rows[i])
	}
	r.settled(t)
	r.got(t, off)
	t.Logf("%d pods with the share in %.1f s", pods, since(begin))

	run("helm upgrade snug deploy/helm/snug --namespace snug --reuse-values --set config.learned=use")
	r.decides(t, off) // the chart's ConfigMap is empty
	run("snug cluster learn rows.txt | kubectl apply --server-side -f -")
	r.decides(t, use)
	r.got(t, off) // running pods keep what they have
	begin = time.Now()
	r.again(t)
	r.got(t, use)
	t.Logf("%d pods by what was measured in %.1f s", pods, since(begin))

	run("helm upgrade snug deploy/helm/snug --namespace snug --reuse-values --set config.learned=off")
	r.decides(t, off)
	if r.Get(t, config).OK() {
		t.Error("the chart leaves its ConfigMap")
	}
	r.got(t, use)
	begin = time.Now()
	r.again(t)
	r.got(t, off)
	t.Logf("%d pods with the share again in %.1f s", pods, since(begin))
}

// decides waits until the next pod of shop/web would be given what is due.
func (r *rollout) decides(t *testing.T, due map[string]string) {
	t.Helper()
	pod := probe(0)
	meta := pod["metadata"].(kube.Object)
	meta["labels"] = kube.Object{"pod-template-hash": "5d4f7c9b6d"}
	meta["ownerReferences"] = []any{kube.Object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f7c9b6d", "uid": "a", "controller": true}}
	r.Until(t, "a pod of shop/web is given "+due["shop.web"], func() bool {
		_, said := hook.Stored(kube.Must(t, r.Create(t, "/api/v1/namespaces/shop/pods?dryRun=All", pod)).Object)
		return said == "added: "+due["shop.web"]
	})
}

// again replaces all pods, as the release of each team does.
func (r *rollout) again(t *testing.T) {
	t.Helper()
	for _, verb := range []string{"restart", "status"} {
		for _, w := range r.rows {
			r.kubectl(t, "--namespace", w.in, "rollout", verb, strings.ToLower(w.kind)+"/"+w.name)
		}
	}
	r.settled(t)
}

// got checks that every pod has what is due, by workload: variables and the annotation that lists them, or neither.
func (r *rollout) got(t *testing.T, due map[string]string) {
	t.Helper()
	all := r.pods(t)
	for _, w := range r.rows {
		line, note := "a{}", ""
		if parts := due[w.key()]; parts != "" {
			line, note = "", "added: "+parts
			for part := range strings.SplitSeq(parts, "; ") {
				words := strings.Fields(part) // a GOMEMLIMIT=460MiB (pod-memory-share)
				line += " " + words[0] + "{" + words[1] + "}"
			}
		}
		if n := len(all[w.key()]); n != w.pods {
			t.Errorf("%s has %d pods", w.key(), n)
		}
		for _, p := range all[w.key()] {
			if has, said := hook.Stored(p); has != strings.TrimSpace(line) || said != note {
				t.Errorf("%s: %s, %q; want %s, %q", name(p), has, said, line, note)
			}
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
