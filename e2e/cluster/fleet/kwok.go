// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// stages are what kwok is told to do to nodes and pods, as its module has them: a node
// gets ready and stays so, a pod of it runs, and what is to be deleted goes. The stage at
// which a pod of a Job has done its work is left out, so that all pods of a fleet are
// there when it is counted.
var stages = []string{
	"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml",
}

// readyAgain is a stage of our own: a machine that stands still for a minute makes dead
// nodes of all that there are, whose pods are then not ready, and a kubelet that is back
// says that they are.
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

// stageFile writes the stages into a file of dir. They are not for pods of the webhook.
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
