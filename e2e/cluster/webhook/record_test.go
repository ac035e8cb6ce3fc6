// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// questions is the directory of an API server's requests for tests and measurements of the tool.
const questions = "../../../cmd/snug/internal/cluster/review/testdata"

// recorded lists the pods whose requests are recorded.
var recorded = []struct{ name, labels, spec string }{
	{"bare", "snug.dev/inject: enabled", "containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1}}}]"},
	{"out", "", "containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1}}}]"},
	{"web", webLabels, webSpec},
	{"mesh", webLabels, meshInit + strings.Replace(webSpec, "containers: [", "containers: ["+meshProxy+", ", 1)},
	{"many", "snug.dev/inject: enabled", "containers: [" + many(10, 20) + "]"},
}

const (
	webLabels = "snug.dev/inject: enabled, snug.dev/gomaxprocs: enabled, app.kubernetes.io/name: shop, app.kubernetes.io/instance: shop-eu, app.kubernetes.io/component: cart, app.kubernetes.io/managed-by: Helm, pod-template-hash: 6c9f7d5b8"
	webSpec   = `serviceAccountName: cart, terminationGracePeriodSeconds: 45, priorityClassName: "", securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}},
 affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {labelSelector: {matchLabels: {app.kubernetes.io/name: shop}}, topologyKey: kubernetes.io/hostname}}]}},
 topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app.kubernetes.io/name: shop}}}],
 tolerations: [{key: dedicated, operator: Equal, value: shop, effect: NoSchedule}],
 volumes: [{name: config, configMap: {name: cart}}, {name: tls, secret: {secretName: cart-tls}}, {name: tmp, emptyDir: {sizeLimit: 64Mi}}],
 containers: [{name: cart, image: "registry.example/shop/cart:v1.42.0@sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9", args: ["--config=/etc/cart/config.yaml", "--v=2"],
  ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}],
  env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}},
   {name: LOG_LEVEL, value: info}, {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://collector.telemetry.svc.cluster.local:4317"}, {name: OTEL_RESOURCE_ATTRIBUTES, value: "service.name=cart,k8s.pod.name=$(POD_NAME)"},
   {name: DATABASE_URL, valueFrom: {secretKeyRef: {name: cart-db, key: url}}}, {name: REDIS_ADDRESS, value: "redis-master.shop.svc.cluster.local:6379"}, {name: KAFKA_BROKERS, value: "kafka-0.kafka:9092,kafka-1.kafka:9092,kafka-2.kafka:9092"}, {name: FEATURE_FLAGS, value: "checkout-v2,prices-cached"}],
  resources: {requests: {cpu: 250m, memory: 256Mi}, limits: {cpu: 1500m, memory: 512Mi}},
  livenessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 10}, readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 5, failureThreshold: 2}, startupProbe: {httpGet: {path: /healthz, port: http}, failureThreshold: 30},
  lifecycle: {preStop: {sleep: {seconds: 5}}},
  securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}},
  volumeMounts: [{name: config, mountPath: /etc/cart, readOnly: true}, {name: tls, mountPath: /etc/tls, readOnly: true}, {name: tmp, mountPath: /tmp}]}]`
	meshInit = `initContainers: [{name: mesh-init, image: "registry.example/mesh/proxy:1.27.0", args: [iptables, "-p", "15001", "-z", "15006", "-u", "1337"], resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 10m, memory: 40Mi}}, securityContext: {capabilities: {add: [NET_ADMIN, NET_RAW]}}},
 {name: vault-agent, image: "registry.example/vault:1.20", restartPolicy: Always, args: [agent, "-config=/vault/config.hcl"], env: [{name: VAULT_ADDR, value: "https://vault.vault.svc:8200"}], resources: {limits: {cpu: 500m, memory: 128Mi}, requests: {cpu: 50m, memory: 64Mi}}}], `
	meshProxy = `{name: mesh-proxy, image: "registry.example/mesh/proxy:1.27.0", args: [proxy, sidecar, "--domain", "$(POD_NAMESPACE).svc.cluster.local"], env: [{name: GOMAXPROCS, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1"}}}, {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: "1"}}}, {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}], resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 100m, memory: 128Mi}}, readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}}`
)

func many(containers, env int) string {
	var all []string
	for i := range containers {
		var variables []string
		for j := range env {
			variables = append(variables, fmt.Sprintf("{name: VARIABLE_NUMBER_%d, value: https://service-%d.namespace.svc.cluster.local}", j, j))
		}
		all = append(all, fmt.Sprintf("{name: c%d, image: x, env: [%s], resources: {limits: {memory: 512Mi, cpu: 1}}}", i, strings.Join(variables, ", ")))
	}
	return strings.Join(all, ", ")
}

var record = flag.Bool("record", false, "keep what TestRecord writes; look at the difference")

// TestRecord records the requests that an API server sends for some pods.
func TestRecord(t *testing.T) {
	gate.Need(t, "kube")
	dir := t.TempDir()
	if *record {
		dir = questions
	}
	l := &lab{Lab: kube.Start(t)}
	var last []byte
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var q struct{ Request struct{ UID string } }
		if err != nil || json.Unmarshal(text, &q) != nil {
			t.Errorf("%v: %s", err, text)
		}
		last = text
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`, q.Request.UID)
	}))
	defer server.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	kube.Must(t, l.Create(t, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", fmt.Sprintf(`metadata: {name: record}
webhooks:
- name: record.snug.dev
  clientConfig: {url: "%s", caBundle: %s}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods, pods/resize]}]
`, server.URL, ca)))
	kube.Must(t, l.Create(t, "/api/v1/namespaces", "metadata: {name: shop}"))
	kube.Must(t, l.Create(t, "/api/v1/nodes", "metadata: {name: node}\nstatus: {capacity: {cpu: 64, memory: 64Gi, pods: 110}, allocatable: {cpu: 64, memory: 64Gi, pods: 110}}"))
	const pods = "/api/v1/namespaces/shop/pods"
	l.Until(t, "the webhook is called", func() bool {
		kube.Must(t, l.Create(t, pods+"?dryRun=All", "metadata: {name: try}\nspec: {containers: [{name: a, image: x}]}"))
		return last != nil
	})
	save := func(name string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), bytes.TrimSpace(last), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, len(last))
	}
	for _, p := range recorded {
		kube.Must(t, l.Create(t, pods, fmt.Sprintf(`metadata:
  generateName: %[1]s-6c9f7d5b8-
  labels: {%[2]s}
  annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9090", checksum/config: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s-6c9f7d5b8, uid: 11111111-2222-3333-4444-555555555555, controller: true, blockOwnerDeletion: true}]
spec: {%[3]s}
`, p.name, p.labels, p.spec)))
		save(p.name)
	}
	kube.Must(t, l.Create(t, pods, "metadata: {name: resized}\nspec: {nodeName: node, containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 460MiB}], resources: {limits: {memory: 512Mi, cpu: 1}}}]}"))
	more := kube.Object{"memory": "1Gi", "cpu": "2"}
	kube.Must(t, l.Patch(t, pods+"/resized/resize", kube.Object{"spec": kube.Object{"containers": []any{kube.Object{"name": "a", "resources": kube.Object{"limits": more, "requests": more}}}}}))
	save("resize")
}
