// SPDX-License-Identifier: Apache-2.0

// Package node makes the machine a node of a cluster until the test ends. It runs a real kubelet
// with Debian's containerd, runc and CNI plugins, and the real API server, controllers and
// scheduler of package kube. Pods run, and are resized in place.
//
// The cluster's network is simulated. Pods reach the API server as the service "kubernetes", find
// services by name, and reach each other and this machine by address. There is no kube-proxy: other
// services have no working address. The API server reaches webhooks at their endpoints, and pods
// find headless services by name.
//
// The machine is restored afterwards: processes, mounts, cgroups, addresses and kernel parameters.
// A second process does this even if the first one was killed. Meanwhile the kubelet's own port is
// open to every user of the machine.
//
// It requires cgroup v1 and root.
package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// Node is a cluster of one node.
type Node struct {
	*kube.Lab
	dir     string
	beside  []*daemon.Process
	runtime string // containerd's socket
}

// Name is the name of the node.
const Name = "node"

// Addresses of the machine while it is a node. apiAddress is the first address of services and is
// in the API server's certificate.
const (
	nodeAddress = "10.245.0.1"
	apiAddress  = "10.96.0.1"
	dnsAddress  = "10.96.0.10"
	podNetwork  = "10.244.0.0/24"
)

// addresses lists the addresses to add.
var addresses = []string{nodeAddress + "/32", apiAddress + "/32", dnsAddress + "/32"}

// pauseImage is the image of sandboxes.
const pauseImage = "localhost/pause:1"

// plugins is the directory of Debian's CNI plugins.
const plugins = "/usr/lib/cni"

// deadline bounds each wait.
const deadline = 3 * time.Minute

// Start makes the machine a node with these images, by name. The caller must have locked the
// machine.
func Start(t testing.TB, lock *os.File, images map[string]Image) *Node {
	t.Helper()
	kubelet := kubebuild.Command(t, "kubelet")
	for _, tool := range []string{"containerd", "ctr", "runc", "ip", plugins + "/ptp"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: install the packages of e2e/packages.txt", err)
		}
	}
	pause := filepath.Join(t.TempDir(), "pause")
	build(t, pause, "./pause")
	// Not the test's directory: the path of a socket is limited to 107 bytes.
	dir, err := os.MkdirTemp("", "snug-node-")
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{dir: dir}
	made, err := before(dir, addresses)
	if err == nil {
		err = guarded(t, lock, made)
	}
	if err != nil {
		os.RemoveAll(dir)
		t.Fatal(err)
	}
	for _, a := range made.Addresses {
		if out, err := exec.Command("ip", "addr", "add", a, "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("add address %s: %v %s", a, err, out)
		}
	}
	// A server of its own, with controllers and a fixed address. It reaches webhooks at the
	// endpoints of their service, and logs of pods at the node's address.
	n.Lab = kube.StartWith(t, kube.Options{Controllers: true, Address: apiAddress + ":443",
		Flags: []string{"--enable-aggregator-routing", "--kubelet-preferred-address-types=InternalIP"}})
	if err := serveNames(t, n.Lab, dnsAddress+":53"); err != nil {
		t.Fatal(err)
	}
	n.containers(t)
	n.Image(t, pauseImage, Image{Program: pause})
	for name, i := range images {
		n.Image(t, name, i)
	}
	n.write(t, "kubelet.yaml", fmt.Sprintf(kubeletConfig, n.runtime, nodeAddress, filepath.Join(n.dir, "podlogs"), filepath.Join(n.dir, "volumeplugins"), dnsAddress, domain))
	n.beside = append(n.beside, daemon.Start(t, n.dir, kubelet, "--config", filepath.Join(n.dir, "kubelet.yaml"), "--kubeconfig", n.Kubeconfig(t),
		"--root-dir", filepath.Join(n.dir, "kubelet"), "--cert-dir", filepath.Join(n.dir, "pki"),
		"--hostname-override", Name, "--node-ip", nodeAddress,
		// cAdvisor, which runs in the kubelet, does not use the configured endpoint of the runtime.
		"--containerd", n.runtime))
	n.Wait(t, "the node is ready", func() bool {
		var node struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
		if n.Read("/api/v1/nodes/"+Name, &node) != nil {
			return false
		}
		for _, c := range node.Status.Conditions {
			if c.Type == "Ready" {
				return c.Status == "True"
			}
		}
		return false
	})
	return n
}

// containers starts the container runtime.
func (n *Node) containers(t testing.TB) {
	t.Helper()
	n.runtime = filepath.Join(n.dir, "containerd.sock")
	in := func(name string) string { return filepath.Join(n.dir, name) }
	if err := os.MkdirAll(in("cni"), 0o755); err != nil {
		t.Fatal(err)
	}
	n.write(t, "cni/10-pods.conflist", fmt.Sprintf(cniConfig, podNetwork, in("ipam")))
	n.write(t, "containerd.toml", fmt.Sprintf(containerdConfig, in("root"), in("state"), n.runtime, pauseImage, plugins, in("cni"), in("runc")))
	p := daemon.Start(t, n.dir, "containerd", "-c", in("containerd.toml"))
	n.beside = append(n.beside, p)
	n.Wait(t, "the container runtime answers", func() bool {
		return exec.Command("ctr", "-a", n.runtime, "version").Run() == nil
	})
}

// Import imports an image from a file in the format of `docker save`.
func (n *Node) Import(t testing.TB, path string) {
	t.Helper()
	if out, err := exec.Command("ctr", "-a", n.runtime, "-n", "k8s.io", "images", "import", path).CombinedOutput(); err != nil {
		t.Fatalf("import %s: %v\n%s", filepath.Base(path), err, out)
	}
}

// Wait waits until a condition holds. It fails at once when a process of the node ends.
func (n *Node) Wait(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !yes(); time.Sleep(100 * time.Millisecond) {
		for _, p := range n.beside {
			if err := p.Ended(); err != nil {
				t.Fatalf("%s ended: %v\nlast of its log:\n%s", p.Name, err, p.Log())
			}
		}
		if time.Now().After(end) {
			for _, p := range n.beside {
				t.Logf("last of the log of %s:\n%s", p.Name, p.Log())
			}
			t.Fatalf("not within %v: %s", deadline, what)
		}
	}
}

func (n *Node) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// build builds the static, stripped program of a directory.
func build(t testing.TB, to, dir string, env ...string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", to, ".")
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", filepath.Base(to), err, out)
	}
}

// containerdConfig keeps all of containerd in the node's directory. restrict_oom_score_adj, because
// lowering a process's OOM score may be forbidden.
const containerdConfig = `version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  sandbox_image = %q
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = %q
`

// cniConfig connects each pod by a veth pair. It reaches other pods and the cluster's addresses,
// and nothing else.
const cniConfig = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "10.96.0.0/24"}, {"dst": "10.245.0.0/24"}], "dataDir": %q}}]}
`

// kubeletConfig evicts no pod and removes no image because of disk space, because the disk is not
// the node's.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
containerRuntimeEndpoint: "unix://%s"
address: %q
podLogsDir: %q
volumePluginDir: %q
clusterDNS: [%q]
clusterDomain: %q
resolvConf: ""
readOnlyPort: 0
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
failSwapOn: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
localStorageCapacityIsolation: false
evictionHard: {memory.available: "50Mi"}
imageGCHighThresholdPercent: 100
enableControllerAttachDetach: false
`
