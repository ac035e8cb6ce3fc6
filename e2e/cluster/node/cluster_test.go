// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
	"github.com/snug-go/snug/e2e/internal/programs"
	"github.com/snug-go/snug/e2e/internal/prom"
)

// cluster is a node with snug installed from its chart, and a Prometheus.
type cluster struct {
	*Node
	prom  *prom.Server
	agent string // URL
	snug  string // path of the tool
	story strings.Builder
}

// old is a Go release without support for CPU quotas.
const old = "go1.24.13"

// Images of the server, built by old Go: plain; with the GOMAXPROCS of a machine with 8 CPUs, which
// this one may not have; and with snug linked. snugImage has the tool.
const (
	plainImage = "localhost/plain:1"
	eightImage = "localhost/eight:1"
	autoImage  = "localhost/auto:1"
	snugImage  = "localhost/snug:1"
)

// newCluster installs snug after the misfits have started: the webhook learns from containers that
// have run for a minute, and asks the agents once per minute from its start on.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	dir, root := t.TempDir(), programs.Root(t)
	plain, auto, snug := filepath.Join(dir, "plain"), filepath.Join(dir, "auto"), filepath.Join(dir, "snug")
	server(t, root, plain, "")
	server(t, root, auto, "auto")
	if err := programs.BuildTool(root, snug); err != nil {
		t.Fatal(err)
	}
	c := &cluster{Node: Start(t, lockMachine(t), map[string]Image{
		plainImage: {Program: plain},
		eightImage: {Program: plain, Env: []string{"GOMAXPROCS=8"}},
		autoImage:  {Program: auto},
		snugImage:  {Program: snug},
	}), snug: snug}
	c.namespace(t, "shop", "")
	for _, m := range misfits {
		c.deployment(t, "shop", m.name, m.image, m.cpu, "")
	}
	for _, m := range misfits {
		c.running(t, "shop", m.name)
	}
	c.install(t, filepath.Join(root, "deploy", "helm", "snug"), "webhook.enabled=true")
	c.scrape(t, filepath.Join(root, "deploy", "helm", "snug", "files", "alerts.yaml"))
	return c
}

// server builds the server as a module of its own with old Go.
func server(t *testing.T, root, to, tag string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"main.go", "auto.go"} {
		text, err := os.ReadFile(filepath.Join("server", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mod := "module server\n\ngo 1.24\n"
	if tag != "" {
		mod += fmt.Sprintf("\nrequire github.com/snug-go/snug v0.0.0\n\nreplace github.com/snug-go/snug => %s\n", root)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	build(t, to, dir, "GOWORK=off", "GOTOOLCHAIN="+old, "GOFLAGS=-tags="+tag)
}

// install installs the chart with these values by Helm, and waits until everything is ready.
func (c *cluster) install(t *testing.T, chart string, values ...string) {
	t.Helper()
	image, tag, _ := strings.Cut(snugImage, ":")
	args := []string{"install", "snug", chart, "--create-namespace", "--set", "image.repository=" + image, "--set-string", "image.tag=" + tag, "--set", "agent.interval=1s",
		"--set", "config.minProcs=1", // at one core a reference, which gives 1
		"--set", "policy.checks=true"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	c.helm(t, args...)
}

// helm runs a command of Helm, and waits until everything is ready.
func (c *cluster) helm(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(kubebuild.Command(t, "helm4"), append(args, "--namespace", "snug", "--kubeconfig", c.Kubeconfig(t), "--wait", "--timeout", deadline.String())...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s\n%s", args[0], err, out, c.podStates(t, "snug"))
	}
}

// podStates returns the states and logs of a namespace's pods, for a failure message.
func (c *cluster) podStates(t *testing.T, namespace string) string {
	t.Helper()
	var b strings.Builder
	for _, p := range c.pods(t, namespace, "") {
		text, _ := json.Marshal(p.Status)
		fmt.Fprintf(&b, "%s: %s\n", p.Metadata.Name, text)
		for _, k := range p.Spec.Containers {
			b.Write(c.Get(t, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log?container=%s&tailLines=20", namespace, p.Metadata.Name, k.Name)).Text)
		}
	}
	return b.String()
}

// scrape starts a Prometheus that scrapes the agent and the webhooks, with the chart's rules.
func (c *cluster) scrape(t *testing.T, rules string) {
	t.Helper()
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(prom.Hurried(t, string(text), 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	var agents, webhooks []string
	for _, p := range c.pods(t, "snug", "") {
		switch {
		case strings.HasPrefix(p.Metadata.Name, "snug-agent"):
			agents = append(agents, p.Status.PodIP+":9464")
		case strings.HasPrefix(p.Metadata.Name, "snug-webhook"):
			webhooks = append(webhooks, p.Status.PodIP+":9465")
		}
	}
	if len(agents) != 1 || len(webhooks) != 2 {
		t.Fatalf("agents %q, webhooks %q", agents, webhooks)
	}
	c.agent = "http://" + agents[0]
	c.prom = prom.Start(t, dir, fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
- job_name: snug-agent
  honor_labels: true
  static_configs: [{targets: [%q], labels: {instance: %q}}]
- job_name: snug-webhook
  static_configs: [{targets: [%q, %q]}]
`, agents[0], Name, webhooks[0], webhooks[1]))
}

// pod is the part of a pod that the tests use.
type pod struct {
	Metadata struct {
		Namespace, Name, UID, DeletionTimestamp string

		Annotations map[string]string
	}
	Spec struct {
		Containers []struct {
			Name string
			Env  []struct {
				Name, Value string
				ValueFrom   *struct {
					ResourceFieldRef struct{ Resource, Divisor string }
				}
			}
		}
	}
	Status struct {
		Phase, PodIP, QOSClass string
		Conditions             []struct{ Type, Status string }
		ContainerStatuses      []struct {
			ContainerID  string
			RestartCount int
			State        any
			LastState    struct{ Terminated *struct{ Reason string } }
			Resources    struct{ Limits map[string]string }
		}
	}
}

// pods returns a namespace's pods with this label app, or all pods if app is "", without those
// being deleted.
func (c *cluster) pods(t *testing.T, namespace, app string) []pod {
	t.Helper()
	path := "/api/v1/namespaces/" + namespace + "/pods"
	if app != "" {
		path += "?labelSelector=app%3D" + app
	}
	var list struct{ Items []pod }
	if err := c.Read(path, &list); err != nil {
		t.Fatal(err)
	}
	var all []pod
	for _, p := range list.Items {
		if p.Metadata.DeletionTimestamp == "" {
			all = append(all, p)
		}
	}
	return all
}

// variables returns the variables of the first container; a reference is shown as "limits.cpu".
func (p *pod) variables() string {
	var all []string
	for _, e := range p.Spec.Containers[0].Env {
		if e.ValueFrom != nil {
			e.Value = e.ValueFrom.ResourceFieldRef.Resource
		}
		all = append(all, e.Name+"="+e.Value)
	}
	return strings.Join(all, " ")
}

// deployment creates a Deployment of one pod with a server. variable is NAME=value; "" = none.
func (c *cluster) deployment(t *testing.T, namespace, name, image, cpu, variable string) {
	t.Helper()
	env := "[]"
	if name, value, ok := strings.Cut(variable, "="); ok {
		env = fmt.Sprintf("[{name: %s, value: %q}]", name, value)
	}
	a := c.Create(t, "/apis/apps/v1/namespaces/"+namespace+"/deployments", fmt.Sprintf(`
metadata: {name: %s}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: server
        image: %s
        env: %s
        readinessProbe: {httpGet: {path: /self, port: 8080}, periodSeconds: 1, timeoutSeconds: 30}
        resources:
          requests: {cpu: 100m, memory: 64Mi}
          limits: {cpu: %s, memory: 256Mi}
`, name, image, env, cpu))
	if !a.OK() {
		t.Fatal(a.Message())
	}
}

// change patches the metadata of a Deployment's pods.
func (c *cluster) change(t *testing.T, namespace, name string, metadata kube.Object) {
	t.Helper()
	a := c.Patch(t, "/apis/apps/v1/namespaces/"+namespace+"/deployments/"+name,
		kube.Object{"spec": kube.Object{"template": kube.Object{"metadata": metadata}}})
	if !a.OK() {
		t.Fatal(a.Message())
	}
}

// running waits until a Deployment is up to date, and returns its only pod.
func (c *cluster) running(t *testing.T, namespace, name string) pod {
	t.Helper()
	var found []pod
	c.Wait(t, "Deployment "+namespace+"/"+name+" is ready", func() bool {
		var d struct {
			Metadata struct{ Generation int }
			Status   struct{ ObservedGeneration, Replicas, UpdatedReplicas, AvailableReplicas int }
		}
		if err := c.Read("/apis/apps/v1/namespaces/"+namespace+"/deployments/"+name, &d); err != nil {
			t.Fatal(err)
		}
		s := d.Status
		if s.ObservedGeneration < d.Metadata.Generation || s.Replicas != 1 || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 {
			return false
		}
		found = c.pods(t, namespace, name)
		return len(found) == 1
	})
	return found[0]
}

// self is what a server reports of its runtime.
type self struct {
	Version, CPUs, Procs string
	Limit                string // bytes
}

func (s self) String() string {
	if s.Limit == off {
		s.Limit = "off"
	}
	return fmt.Sprintf("%s, GOMAXPROCS %s of %s, GOMEMLIMIT %s", s.Version, s.Procs, s.CPUs, s.Limit)
}

// self returns the report of the server in a pod.
func (p *pod) self(t *testing.T) self {
	t.Helper()
	var s self
	if err := json.Unmarshal([]byte(get(t, "http://"+p.Status.PodIP+":8080/self")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// counted holds the kernel's counters of a container.
type counted struct {
	Periods, Throttled int64
	ThrottledSeconds   float64
	CPUSeconds         float64
	PeakBytes          int64
}

// counts reads the counters from the v1 cgroups of the pod's first container.
func (p *pod) counts(t *testing.T) counted {
	t.Helper()
	_, id, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
	read := func(controller, file string) string {
		below := filepath.Join("pod"+p.Metadata.UID, id, file)
		for _, class := range []string{"", "burstable", "besteffort"} {
			if text, err := os.ReadFile(filepath.Join(hierarchies, controller, "kubepods", class, below)); err == nil {
				return strings.TrimSpace(string(text))
			}
		}
		t.Fatalf("no %s of pod %s", file, p.Metadata.Name)
		return ""
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var k counted
	for line := range strings.Lines(read("cpu", "cpu.stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "nr_periods":
			k.Periods = number(value)
		case "nr_throttled":
			k.Throttled = number(value)
		case "throttled_time":
			k.ThrottledSeconds = float64(number(value)) / 1e9
		}
	}
	k.CPUSeconds = float64(number(read("cpuacct", "cpuacct.usage"))) / 1e9
	k.PeakBytes = number(read("memory", "memory.max_usage_in_bytes"))
	return k
}
