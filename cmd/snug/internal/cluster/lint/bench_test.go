// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
)

// workload is a deployment of typical length.
const workload = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d
  namespace: team-%[2]d
  labels: {app.kubernetes.io/name: app-%[1]d, app.kubernetes.io/part-of: shop}
spec:
  replicas: 3
  selector:
    matchLabels: {app.kubernetes.io/name: app-%[1]d}
  template:
    metadata:
      labels: {app.kubernetes.io/name: app-%[1]d}
    spec:
      securityContext: {runAsNonRoot: true}
      containers:
      - name: app
        image: registry.example.org/shop/app-%[1]d:v1.2.3
        args: ["--listen=:8080", "--log=info"]
        ports:
        - {name: http, containerPort: 8080}
        env:
        - name: DATABASE
          valueFrom: {secretKeyRef: {name: db, key: url}}
        - name: GOMEMLIMIT
          valueFrom:
            resourceFieldRef:
              resource: limits.memory
              divisor: %[3]s
        resources:
          requests: {cpu: 250m, memory: 256Mi}
          limits: {cpu: "1", memory: 512Mi}
        readinessProbe:
          httpGet: {path: /ready, port: http}
        volumeMounts:
        - {name: config, mountPath: /etc/app}
      volumes:
      - name: config
        configMap: {name: app-%[1]d}
`

const service = `apiVersion: v1
kind: Service
metadata:
  name: app-%[1]d
  namespace: team-%[2]d
spec:
  selector: {app.kubernetes.io/name: app-%[1]d}
  ports:
  - {name: http, port: 80, targetPort: http}
`

// BenchmarkLint checks 5,000 manifests. Half are deployments, and one in a hundred of these
// has a wrong divisor.
func BenchmarkLint(b *testing.B) {
	var texts [][]byte
	size := 0
	for i := range 2500 {
		divisor := `"1"`
		if i%100 == 0 {
			divisor = "1Mi"
		}
		var s strings.Builder
		fmt.Fprintf(&s, workload, i, i%20, divisor)
		texts = append(texts, []byte(s.String()))
		texts = append(texts, []byte(fmt.Sprintf(service, i, i%20)))
		size += len(s.String()) + len(texts[len(texts)-1])
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		var files []*manifest.File
		for _, text := range texts {
			files = append(files, manifest.Parse("f.yaml", text))
		}
		found := 0
		for _, f := range lint.Check(files).Found {
			if f.ID == "gomemlimit-divisor" {
				found++
			}
		}
		if found != 25 {
			b.Fatalf("found %d", found)
		}
	}
}

// BenchmarkLongLine checks a pod of 5,000 containers in one line, each with a finding.
func BenchmarkLongLine(b *testing.B) {
	var s strings.Builder
	s.WriteString(`{"kind":"Pod","spec":{"containers":[`)
	for i := range 5000 {
		if i > 0 {
			s.WriteString(",")
		}
		fmt.Fprintf(&s, `{"name":"c%d","image":"i","env":[{"name":"GOMEMLIMIT","value":"512Mi"}]}`, i)
	}
	s.WriteString("]}}")
	text := []byte(s.String())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if n := len(lint.Check([]*manifest.File{manifest.Parse("f.json", text)}).Found); n != 5000 {
			b.Fatalf("found %d", n)
		}
	}
}
