// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"
)

// observed: with mode observe, a pod's annotation lists what it would be given, in the same words
// as when it is given. The rest of the pod is unchanged.
func (p *policies) observed(t *testing.T) {
	const plain = `containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`
	situations := []situation{
		{"opted in", in, "", plain, "a GOMEMLIMIT=460MiB (pod-memory-share)", nil},
		{"both variables, and a restart", in, "gomaxprocs=enabled restart-on-resize=enabled", plain, "a GOMAXPROCS (pod-procs-reference); a GOMEMLIMIT=460MiB (pod-memory-share)", nil},
		{"several containers", in, "",
			`initContainers: [{name: s, image: x, restartPolicy: Always, env: [{name: A, value: b}], resources: {limits: {memory: 64Mi}}}], containers: [{name: a, image: x, resources: {limits: {memory: 1Gi}}}]`,
			"a GOMEMLIMIT=921MiB (pod-memory-share); s GOMEMLIMIT=56MiB (pod-memory-share)", nil},
		{"a LimitRange's limits", limited, "", `containers: [{name: a, image: x}]`, "a GOMEMLIMIT=270MiB (pod-memory-share)", nil},
		{"nothing to add", in, "", `containers: [{name: a, image: x}]`, "", nil},
		{"a variable already set", in, "", withEnv("GOMEMLIMIT", "100MiB"), "", nil},
		{"not opted in", neutral, "", plain, "", nil},
		{"opted out", in, "inject=disabled", plain, "", nil},
		{"an invalid label", in, "inject=true", plain, "", nil},
		{"an excluded namespace", system, "inject=enabled", plain, "", nil},
	}
	t.Run("enforced", func(t *testing.T) {
		p.apply(t, "check: off\n")
		for _, s := range situations {
			if got := added(p.dry(t, &s)); got != s.want {
				t.Errorf("%s: %q, want %q", s.name, got, s.want)
			}
		}
	})
	p.apply(t, "mode: observe\n")
	for _, s := range situations {
		got := p.dry(t, &s)
		if note(got, "observed") != s.want || added(got) != "" {
			t.Errorf("%s: %q, want %q", s.name, note(got, "observed"), s.want)
		}
		untouched := s
		untouched.labels = "inject=disabled"
		if now, before := stored(got), stored(p.dry(t, &untouched)); now != before {
			t.Errorf("%s: stored %s, want %s as without the policies", s.name, now, before)
		}
		meta := got["metadata"].(Object)
		again := Object{"metadata": Object{"name": "again", "labels": meta["labels"], "annotations": meta["annotations"]}, "spec": got["spec"]}
		a := Must(t, p.Create(t, "/api/v1/namespaces/"+s.namespace+"/pods?dryRun=All", again))
		if note(a.Object, "observed") != s.want {
			t.Errorf("%s, copied: %q, want %q", s.name, note(a.Object, "observed"), s.want)
		}
	}
	pods := "/api/v1/namespaces/in/pods?dryRun=All"
	gone := `metadata: {name: gone, annotations: {snug.dev/observed: a GOMEMLIMIT=460MiB (pod-memory-share)}}
spec: {containers: [{name: a, image: x}]}`
	if a := Must(t, p.Create(t, pods, gone)); note(a.Object, "observed") != "" {
		t.Errorf("an obsolete annotation stays: %q", note(a.Object, "observed"))
	}
	// The annotation describes the final pod, whatever another policy changes in between.
	p.Apply(t, otherPolicy)
	p.Until(t, "the other policy is in force", func() bool { return len(containers(Must(t, p.Create(t, pods, fitting)).Object)) == 2 })
	for range 10 {
		a := Must(t, p.Create(t, pods, fitting))
		const want = "a GOMEMLIMIT=921MiB (pod-memory-share); late GOMEMLIMIT=230MiB (pod-memory-share)"
		if got := note(a.Object, "observed"); got != want || stored(a.Object) != "a{} late{}" {
			t.Errorf("stored %s, annotated %q", stored(a.Object), got)
		}
	}
}

// dry returns the pod that would be stored.
func (p *policies) dry(t *testing.T, s *situation) Object {
	t.Helper()
	return Must(t, p.Create(t, "/api/v1/namespaces/"+s.namespace+"/pods?dryRun=All", s.manifest("dry"))).Object
}

// note returns an annotation of snug.
func note(pod Object, name string) string {
	annotations, _ := pod["metadata"].(Object)["annotations"].(Object)
	text, _ := annotations["snug.dev/"+name].(string)
	return text
}

// mislabelled: a label with an invalid value causes a warning.
func (p *policies) mislabelled(t *testing.T) {
	p.apply(t, "")
	const namespaces, deployments = "/api/v1/namespaces", "/apis/apps/v1/namespaces/%s/deployments?dryRun=All"
	says := func(what string, a Answer, want string) {
		t.Helper()
		said := strings.Join(complaints(Must(t, a)), "\n")
		if want == "" && said != "" || !strings.Contains(said, want) || want != "" && !strings.Contains(said, "pod-label-wrong") {
			t.Errorf("%s: %q, want %q", what, said, want)
		}
	}
	const labelled = "metadata: {name: %s, labels: {%s}}\n"
	for labels, want := range map[string]string{
		"a: b": "", "snug.dev/inject: enabled": "", "snug.dev/inject: disabled": "",
		`snug.dev/inject: "true"`: "snug.dev/inject=true;", `snug.dev/inject: ""`: "snug.dev/inject=;",
	} {
		says("namespace with "+labels, p.Create(t, namespaces+"?dryRun=All", fmt.Sprintf(labelled, "new", labels)), want)
	}
	Must(t, p.Create(t, namespaces, fmt.Sprintf(labelled, "mislabelled", "a: b")))
	relabel := func(labels Object) Answer {
		return p.Patch(t, namespaces+"/mislabelled", Object{"metadata": Object{"labels": labels}})
	}
	says("another label", relabel(Object{"a": "c"}), "")
	says("an invalid label", relabel(Object{"snug.dev/inject": "yes"}), "snug.dev/inject=yes;")
	says("another label again", relabel(Object{"a": "d"}), "")
	const deployment = "metadata: {name: x, labels: {app: x}}\nspec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x, %s}}, spec: {containers: [{name: a, image: x}]}}}\n"
	for _, c := range []struct{ namespace, labels, want string }{
		{"mislabelled", "a: b", "snug.dev/inject=yes of the namespace;"},
		{"mislabelled", "snug.dev/inject: enabled", ""},
		{"mislabelled", `snug.dev/inject: "no", snug.dev/gomaxprocs: "true"`, "snug.dev/inject=no, snug.dev/gomaxprocs=true;"},
		{in, "snug.dev/restart-on-resize: yes-please", "snug.dev/restart-on-resize=yes-please;"},
		{in, "snug.dev/inject: disabled, snug.dev/gomaxprocs: maybe", ""},
		{out, "snug.dev/gomaxprocs: maybe", ""},
	} {
		says(c.namespace+" "+c.labels, p.Create(t, fmt.Sprintf(deployments, c.namespace), fmt.Sprintf(deployment, c.labels)), c.want)
	}
	// An invalid value gives nothing.
	s := situation{namespace: "mislabelled", spec: memory("1Gi")}
	if got := stored(p.dry(t, &s)); got != "a{}" {
		t.Errorf("with an invalid label on the namespace: %s", got)
	}
}
