// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// stages lists the stages from kwok's module: nodes become and stay ready, their pods run, and
// deleted pods go. The stage that completes pods of a Job is left out, so that all pods of a fleet
// exist when they are counted.
var stages = []string{
	"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml",
}

// readyAgain is an additional stage. If the machine stalls for a minute, all nodes count as dead
// and their pods as not ready. A kubelet that is back reports them as ready again.
const readyAgain = `---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ready-again
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:` + webhookPods + `
    - key: '.metadata.deletionTimestamp'
      operator: 'DoesNotExist'
    - key: '.status.phase'
      operator: 'In'
      values: ['Running']
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: 'NotIn'
      values: ['True']
  next:
    statusTemplate: |
      conditions:
      - type: Ready
        status: "True"
        lastTransitionTime: {{ Now | Quote }}
`

// stageFile writes the stages to a file in dir. They exclude the webhook's pods.
func stageFile(t testing.TB, dir string) string {
	t.Helper()
	module := kubebuild.Downloaded(t, kubebuild.Kwok.Module, kubebuild.Kwok.Version)
	var all strings.Builder
	all.WriteString(readyAgain)
	for _, name := range stages {
		text, err := os.ReadFile(filepath.Join(module, "kustomize", "stage", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		const pods = "  selector:\n    matchExpressions:"
		before, after, ok := strings.Cut(string(text), pods)
		if !ok {
			t.Fatalf("%s of kwok %s has no selector:\n%s", name, kubebuild.Kwok.Version, text)
		}
		if strings.HasPrefix(name, "pod/") {
			before += pods + webhookPods
		} else {
			before += pods
		}
		all.WriteString("---\n" + before + after)
	}
	path := filepath.Join(dir, "stages.yaml")
	if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
