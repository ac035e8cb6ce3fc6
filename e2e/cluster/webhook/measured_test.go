// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// measured: the webhook reads what was measured, and gives the same with the policies and without.
func (l *lab) measured(t *testing.T) {
	const (
		configs = "/api/v1/namespaces/" + hook.Namespace + "/configmaps"
		db      = "metadata: {name: db-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}\nspec: {" + one + "}\n"
		want    = "added: a GOMEMLIMIT=262MiB (pod-memory-learned)"
	)
	cmd := exec.Command(l.exe, "cluster", "learn", "--to", hook.Namespace+"/peaks", "-")
	cmd.Stdin, cmd.Stderr = strings.NewReader("in StatefulSet db a 200MiB 3600\n"), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	kube.Must(t, l.Create(t, configs, string(text)))
	t.Cleanup(func() { l.Delete(t, configs+"/peaks") })
	ask := func() (line, said string) {
		t.Helper()
		return hook.Stored(kube.Must(t, l.Create(t, "/api/v1/namespaces/in/pods?dryRun=All", db)).Object)
	}
	config := l.config(t, "learned: use\nlearnedFrom: "+hook.Namespace+"/peaks\n")
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s, "--config", config)
	r := hook.Start(t, l.exe, l.at, s, "--config", config, "--secret", "measured")
	hook.Until(t, "the webhook has what was measured", r.Said, func() bool { _, said := ask(); return said == want })

	cmd = exec.Command(l.exe, "policy", config)
	cmd.Stderr = os.Stderr
	policies, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Until(t, "policies and webhook are gone", func() bool { _, said := ask(); return said == "" })
	})
	l.Apply(t, string(policies))
	both := func(who string) {
		t.Helper()
		for range 5 {
			if line, said := ask(); line != "a{GOMEMLIMIT=262MiB}" || said != want {
				t.Errorf("%s: %s, %s", who, line, said)
			}
		}
	}
	both("with the policies, perhaps")
	r.Kill()
	l.Until(t, "the policies are in force", func() bool { _, said := ask(); return said == want })
	both("the policies alone")
}
