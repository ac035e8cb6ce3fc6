// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
	"github.com/snug-go/snug/e2e/internal/programs"
	"github.com/snug-go/snug/e2e/internal/prom"
)

// TestGuarded: with agent.auth, the agent on a real node serves over TLS, and each of its paths only to whom
// the real API server permits it.
func TestGuarded(t *testing.T) {
	gate.Root(t, "node")
	root, snug := programs.Root(t), filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(root, snug); err != nil {
		t.Fatal(err)
	}
	c := &cluster{Node: Start(t, lockMachine(t), map[string]Image{snugImage: {Program: snug}}), snug: snug}
	// The probes of the kubelet need no token. The machine may have more processes than the chart's limit is for.
	c.install(t, filepath.Join(root, "deploy", "helm", "snug"), "agent.auth=true", "agent.resources.limits.memory=512Mi")
	agents := c.pods(t, "snug", "")
	if len(agents) != 1 {
		t.Fatalf("%d pods", len(agents))
	}
	address := agents[0].Status.PodIP + ":9464"

	c.namespace(t, "readers", "")
	tokens := map[string]string{}
	for _, name := range []string{"nothing", "metrics", "all"} {
		kube.Must(t, c.Create(t, "/api/v1/namespaces/readers/serviceaccounts", kube.Object{"metadata": kube.Object{"name": name}}))
		tokens[name] = c.tokenOf(t, "readers", name)
	}
	tokens["the agent"] = c.tokenOf(t, "snug", "snug-agent") // may ask who may read, and not read
	none := map[string]int{"/": 403, "/findings": 403, "/metrics": 403}
	for name, token := range tokens {
		c.gets(t, address, name, token, none)
	}
	nobody := map[string]int{"/": 401, "/findings": 401, "/metrics": 401, "/healthz": 200, "/debug/pprof/": 404, "/findings/": 404}
	c.gets(t, address, "no token", "", nobody)
	c.gets(t, address, "a wrong token", tokens["all"][:len(tokens["all"])-4], nobody)

	kube.Must(t, c.Create(t, "/apis/rbac.authorization.k8s.io/v1/clusterroles", `
metadata: {name: only-metrics}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
`))
	all := map[string]int{"/": 200, "/findings": 200, "/metrics": 200, "/healthz": 200, "/debug/pprof/": 404}
	for account, right := range map[string]struct {
		role string // snug-reader is the chart's
		want map[string]int
	}{"metrics": {"only-metrics", map[string]int{"/": 403, "/findings": 403, "/metrics": 200}}, "all": {"snug-reader", all}} {
		kube.Must(t, c.Create(t, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", fmt.Sprintf(`
metadata: {name: reader-%s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{kind: ServiceAccount, namespace: readers, name: %[1]s}]
`, account, right.role)))
		c.Wait(t, "the agent permits "+account, func() bool { return status(t, address, tokens[account], "/metrics") == 200 })
		c.Wait(t, "as the roles say", func() bool { // each path has an answer that is kept
			for path, want := range right.want {
				if status(t, address, tokens[account], path) != want {
					return false
				}
			}
			return true
		})
		c.gets(t, address, account, tokens[account], right.want)
	}
	c.gets(t, address, "who may still read nothing", tokens["nothing"], none)

	// Prometheus reads with a token. The tool has none to give, and says what does without.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(tokens["metrics"]), 0o600); err != nil {
		t.Fatal(err)
	}
	server := prom.Start(t, dir, fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: snug
  scheme: https
  authorization: {credentials_file: token}
  tls_config: {insecure_skip_verify: true}
  static_configs: [{targets: [%q]}]
`, address))
	c.Wait(t, "Prometheus has scraped it", func() bool { return len(server.Query(t, "snug_agent_scans_total > 0")) == 1 })
	cmd := exec.Command(snug, "cluster", "ps")
	cmd.Env = []string{"PATH=" + filepath.Dir(kubebuild.Command(t, "kubectl")), "HOME=" + dir, "KUBECONFIG=" + c.Kubeconfig(t)}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "snug: error: no agent answers: "+Name+": it asks for a token (--auth)") || !strings.Contains(string(out), "snug: hint: snug doctor looks at a pod from a container in it") {
		t.Errorf("%v, %s", err, out)
	}

	// A right that is taken away ends, within the minute for which an answer is kept.
	c.Delete(t, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/reader-all")
	for _, path := range []string{"/", "/findings", "/metrics"} {
		c.Wait(t, "it no longer permits "+path, func() bool { return status(t, address, tokens["all"], path) == 403 })
	}
}

// tokenOf returns a token of an account, as a pod of it has.
func (c *cluster) tokenOf(t *testing.T, namespace, account string) string {
	t.Helper()
	a := kube.Must(t, c.Create(t, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token", kube.Object{"spec": kube.Object{}}))
	return a.Object["status"].(kube.Object)["token"].(string)
}

// gets checks the answers to requests with a token, "" = without.
func (c *cluster) gets(t *testing.T, address, who, token string, want map[string]int) {
	t.Helper()
	for path, code := range want {
		got := 0
		c.Wait(t, "an answer for "+who, func() bool { // on a busy machine the API server may be late
			got = status(t, address, token, path)
			return got != 0 && got != http.StatusServiceUnavailable
		})
		if got != code {
			t.Errorf("%s gets %s: %d, want %d", who, path, got, code)
		}
	}
}

// status returns the status of a path of the agent, 0 = no answer. An answer other than 200 holds nothing of
// what it has seen.
func status(t *testing.T, address, token, path string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// Its certificate is its own, without --cert-file.
	client := http.Client{Timeout: deadline, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Logf("%s: %v", path, err)
		return 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Logf("%s: %v", path, err)
		return 0
	}
	what := map[string]string{"/": "<html", "/findings": `"kind":"agent"`, "/metrics": "\nsnug_agent_scans_total "}[path]
	if what != "" && strings.Contains(string(text), what) != (response.StatusCode == http.StatusOK) {
		t.Errorf("%s: %s with %.200s", path, response.Status, text)
	}
	if (response.Header.Get("WWW-Authenticate") == "Bearer") != (response.StatusCode == http.StatusUnauthorized) {
		t.Errorf("%s: %s with %v", path, response.Status, response.Header)
	}
	return response.StatusCode
}
