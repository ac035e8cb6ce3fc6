// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// TestRemoved: with Kubernetes' own controllers, the webhook's pods are admitted to their restricted
// namespace, and neither part has a right in the other's. If both namespaces are deleted before the
// release, no pod is changed any more, and the README's command removes what is left. A new release
// works.
func TestRemoved(t *testing.T) {
	gate.Need(t, "chart")
	server := kube.StartWith(t, kube.Options{Controllers: true})
	l := &lab{Lab: server, cluster: newCluster(t, server.Access(t)), kubeconfig: server.Kubeconfig(t)}
	l.must(t, http.MethodPost, "/api/v1/namespaces", object("v1", "Namespace", namespace))
	const own = "snug-webhook"
	values := "agent: {auth: true}\nwebhook: {enabled: true, namespace: " + own + "}\npolicy: {enabled: true}\n"
	newHelm(t, "helm4", l.kubeconfig).run(t, values, "install", release, folder, "-n", namespace, "-f", "-")

	l.Until(t, "the webhook has its pods", func() bool {
		return len(hook.List(l.must(t, http.MethodGet, "/api/v1/namespaces/"+own+"/pods", nil)["items"])) == 2
	})
	agent := of(l.must(t, http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/daemonsets/snug-agent", nil), "spec", "template").(kube.Object)
	agent["apiVersion"], agent["kind"] = "v1", "Pod"
	meta(agent)["name"] = "a"
	of(agent, "spec").(kube.Object)["serviceAccountName"] = "snug-webhook" // that namespace has no other
	if code, got := l.ask(t, http.MethodPost, "/api/v1/namespaces/"+own+"/pods?dryRun=All", agent); code != http.StatusForbidden || !strings.Contains(text(got["message"]), `"restricted:latest"`) {
		t.Errorf("an agent in the webhook's namespace: %d %v", code, got["message"])
	}
	for _, r := range []struct {
		user string
		right
		want bool
	}{
		{own + ":snug-webhook", right{verb: "get", resource: "secrets", namespace: own, name: "snug-webhook"}, true},
		{own + ":snug-webhook", right{verb: "get", resource: "secrets", namespace: namespace, name: "snug-webhook"}, false},
		{namespace + ":snug-agent", right{verb: "get", resource: "secrets", namespace: own, name: "snug-webhook"}, false},
		{namespace + ":snug-webhook", right{verb: "get", resource: "secrets", namespace: own, name: "snug-webhook"}, false},
		{namespace + ":snug-agent", right{verb: "create", group: "authentication.k8s.io", resource: "tokenreviews"}, true},
		{namespace + ":snug-agent", right{verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews"}, true},
		{namespace + ":snug-policy", right{verb: "get", resource: "pods", namespace: namespace, name: "a"}, false},
	} {
		if r.want {
			l.Until(t, r.String(), func() bool { return l.allowed(t, r.user, r.right) })
		} else if l.allowed(t, r.user, r.right) {
			t.Errorf("%s: %s", r.user, r)
		}
	}

	given := func() bool {
		pod := object("v1", "Pod", "a")
		meta(pod)["labels"] = kube.Object{"snug.dev/inject": "enabled"}
		pod["spec"] = kube.Object{"containers": []any{kube.Object{"name": "a", "image": "a", "resources": kube.Object{"limits": kube.Object{"memory": "512Mi"}}}}}
		got := l.must(t, http.MethodPost, "/api/v1/namespaces/default/pods?dryRun=All", pod)
		return of(got, "metadata", "annotations", "snug.dev/added") != nil
	}
	l.Until(t, "a pod is given its variables", given)
	for _, name := range []string{namespace, own} {
		l.must(t, http.MethodDelete, "/api/v1/namespaces/"+name, nil)
		l.Until(t, "no namespace "+name, func() bool {
			code, _ := l.ask(t, http.MethodGet, "/api/v1/namespaces/"+name, nil)
			return code == http.StatusNotFound
		})
	}
	l.Until(t, "a pod is given nothing", func() bool { return !given() })
	if left := l.mentions(t, release); len(left) == 0 {
		t.Error("nothing is left")
	}
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    kubectl (delete .* -l app\.kubernetes\.io/part-of=snug)$`).FindSubmatch(page)
	if command == nil {
		t.Fatal("README.md has no command that removes all")
	}
	kubectl := exec.CommandContext(t.Context(), kubebuild.Command(t, "kubectl"), strings.Fields(string(command[1]))...)
	kubectl.Env = []string{"KUBECONFIG=" + l.kubeconfig, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	if out, err := kubectl.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.Until(t, "nothing is left", func() bool { return len(l.mentions(t, release)) == 0 })

	// The server sees again what the policies refer to.
	l.must(t, http.MethodPost, "/api/v1/namespaces", object("v1", "Namespace", namespace))
	newHelm(t, "helm4", l.kubeconfig).run(t, values, "install", release, folder, "-n", namespace, "-f", "-")
	l.Until(t, "a pod is given its variables again", given)
}
