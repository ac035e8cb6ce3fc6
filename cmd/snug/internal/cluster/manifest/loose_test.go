// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"testing"
)

// TestLoose: containers outside pods are found where variables stand beside resources or an image, at their places in
// the file; in all else nothing is guessed.
func TestLoose(t *testing.T) {
	const text = `apiVersion: tekton.dev/v1
kind: Task
metadata: {name: t}
spec:
  steps:
  - name: go
    image: golang
    env: [{name: GOMAXPROCS, value: "64"}]
    computeResources: {limits: {cpu: 500m}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: h}
spec:
  values:
    env: {GOGC: 50, OTHER: secret}
    resources: {requests: {memory: 1Gi}}
    alone:
      env: {GOGC: 60}
    apart:
      env: {GOGC: 70}
      deeper: {resources: {limits: {memory: 1Gi}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
spec:
  source:
    helm:
      values: |
        # of the chart
        server:
          extraEnvs:
          - name: GOMEMLIMIT
            value: 1GiB
          resources: {limits: {memory: 1Gi}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {GOGC: "80", password: 512MiB}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  template:
    spec:
      env: [{name: GOGC, value: "90"}]
      resources: {limits: {memory: 1Gi}}
`
	f := new(Batch).Parse("x.yaml", []byte(text))
	var got []string
	for _, o := range f.Objects {
		for i := range o.Data {
			got = append(got, fmt.Sprint(o.Kind, o.EnvAt(&o.Data[i]), o.Data[i].Name, " ", o.Data[i].Value.Text))
		}
		for _, p := range o.Pods {
			for _, c := range p.Containers {
				for i := range c.Env {
					got = append(got, fmt.Sprint(o.Kind, o.EnvAt(&c.Env[i]), c.Env[i].Name, " ", c.Env[i].Value.Text, len(c.Resources.Limits), len(c.Resources.Requests), c.Partial()))
				}
			}
		}
	}
	want := []string{"Task{8 37}GOMAXPROCS 641 0 true", "HelmRelease{16 17}GOGC 500 1 true", "Application{35 20}GOMEMLIMIT 1GiB1 0 true", "Secret{41 20}GOGC 80"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(f.Unjudged) != 3 {
		t.Errorf("%v", f.Unjudged)
	}
}
