// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// kubelet runs the webhook's pods, which kwok would only mark as running. Each pod is a process
// with the pod's arguments, configuration and rights, and is ready when the process is. kubelet is
// also the network between the API server and these pods.
type kubelet struct {
	f       *fleet
	mu      sync.Mutex
	address map[string]string        // listening address of the process by a pod's address and port
	runs    map[string]*hook.Replica // by the UID of the pod
	ip      map[string]string        // by the UID of the pod
}

// webhookPods excludes the webhook's pods from kwok's stages.
const webhookPods = `
    - key: '.metadata.labels["app.kubernetes.io/component"]'
      operator: 'NotIn'
      values:
      - 'webhook'`

// egress listens for connections of the API server into the cluster, and returns the API server's
// flags for that. It then resolves a service to an endpoint by itself, and requests the connection
// here (KEP-1281).
func egress(t testing.TB) (net.Listener, []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fleet") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, file := filepath.Join(dir, "s"), filepath.Join(dir, "egress.yaml")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	text := "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: " + socket + "}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l, []string{"--egress-selector-config-file", file, "--enable-aggregator-routing"}
}

// kubelet runs a kubelet until the test ends.
func (f *fleet) kubelet(t testing.TB, network net.Listener) *kubelet {
	k := &kubelet{f: f, address: map[string]string{}, runs: map[string]*hook.Replica{}, ip: map[string]string{}}
	go k.connect(network)
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			k.sync(t)
		}
	})
	t.Cleanup(func() {
		stop()
		group.Wait()
	})
	return k
}

// connect is the network of the API server.
func (k *kubelet) connect(network net.Listener) {
	for {
		c, err := network.Accept()
		if err != nil {
			return
		}
		go k.join(c)
	}
}

// join connects an API server with the requested pod, like a proxy:
//
//	CONNECT 10.20.0.1:9443 HTTP/1.1
func (k *kubelet) join(c net.Conn) {
	defer c.Close()
	request, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	k.mu.Lock()
	to := k.address[request.Host]
	if request.URL.Host != "" {
		to = k.address[request.URL.Host]
	}
	k.mu.Unlock()
	backend, err := net.Dial("tcp", to)
	if to == "" || err != nil {
		fmt.Fprint(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer backend.Close()
	fmt.Fprint(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	hook.Join(c, backend)
}

// sync starts new pods and stops those being deleted.
func (k *kubelet) sync(t testing.TB) {
	for _, p := range k.f.list(t, "/api/v1/namespaces/"+hook.Namespace+"/pods?labelSelector=app.kubernetes.io/component%3Dwebhook") {
		meta, spec := p["metadata"].(kube.Object), p["spec"].(kube.Object)
		uid, path := fmt.Sprint(meta["uid"]), fmt.Sprintf("/api/v1/namespaces/%s/pods/%v", hook.Namespace, meta["name"])
		r := k.runs[uid]
		switch {
		case meta["deletionTimestamp"] != nil:
			if r != nil {
				r.Stop(t)
				delete(k.runs, uid)
			}
			k.f.Delete(t, path)
		case r == nil && spec["nodeName"] != nil:
			k.start(t, uid, spec)
			k.ready(t, path, uid, spec)
		case r != nil && !ready(p): // its node counted as dead
			k.ready(t, path, uid, spec)
		}
	}
}

// start starts the process of a pod.
func (k *kubelet) start(t testing.TB, uid string, spec kube.Object) {
	config := kube.Must(t, k.f.Get(t, "/api/v1/namespaces/"+hook.Namespace+"/configmaps/snug-config"))
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config.Object["data"].(kube.Object)["config.yaml"].(string)), 0o600); err != nil {
		t.Error(err)
		return
	}
	token := kube.Must(t, k.f.Create(t, fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%v/token", hook.Namespace, spec["serviceAccountName"]), kube.Object{"spec": kube.Object{}}))
	at := k.f.at
	at.TokenFile = filepath.Join(filepath.Dir(file), "token")
	if err := os.WriteFile(at.TokenFile, []byte(token.Object["status"].(kube.Object)["token"].(string)), 0o600); err != nil {
		t.Error(err)
		return
	}
	var args []string
	for _, a := range hook.List(spec["containers"])[0]["args"].([]any) {
		args = append(args, strings.ReplaceAll(fmt.Sprint(a), "/etc/snug/config.yaml", file))
	}
	r := hook.StartPod(t, k.f.exe, at, args)
	k.ip[uid] = fmt.Sprintf("10.20.0.%d", len(k.ip)+1)
	k.mu.Lock()
	k.address[k.ip[uid]+":9443"] = r.Listen
	k.mu.Unlock()
	k.runs[uid] = r
}

// ready sets a pod's status to ready.
func (k *kubelet) ready(t testing.TB, path, uid string, spec kube.Object) {
	container, ip := hook.List(spec["containers"])[0], k.ip[uid]
	var conditions []any
	for _, of := range []string{"Initialized", "Ready", "ContainersReady"} {
		conditions = append(conditions, kube.Object{"type": of, "status": "True"})
	}
	kube.Must(t, k.f.Patch(t, path+"/status", kube.Object{"status": kube.Object{
		"phase": "Running", "podIP": ip, "podIPs": []any{kube.Object{"ip": ip}}, "conditions": conditions,
		"containerStatuses": []any{kube.Object{"name": container["name"], "image": container["image"], "imageID": "", "ready": true, "restartCount": 0, "state": kube.Object{"running": kube.Object{}}}},
	}}))
}

// ready reports whether a pod is ready.
func ready(pod kube.Object) bool {
	status, _ := pod["status"].(kube.Object)
	for _, c := range hook.List(status["conditions"]) {
		if c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}
