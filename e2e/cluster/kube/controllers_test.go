// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestControllers: a Deployment gets a pod with a service account, and the scheduler reports that
// there is no node for it. It has a server of its own, because controllers would change the objects
// of other tests.
func TestControllers(t *testing.T) {
	gate.Need(t, "kube")
	l := StartWith(t, Options{Controllers: true})
	Must(t, l.Create(t, "/apis/apps/v1/namespaces/default/deployments", `
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: x}]}
`))
	var pod Object
	l.Until(t, "a pod that has no node", func() bool {
		items := Must(t, l.Get(t, "/api/v1/namespaces/default/pods")).Object["items"].([]any)
		if len(items) != 1 {
			return false
		}
		pod = items[0].(Object)
		conditions, _ := pod["status"].(Object)["conditions"].([]any)
		return slices.ContainsFunc(conditions, func(c any) bool { return c.(Object)["reason"] == "Unschedulable" })
	})
	if spec := pod["spec"].(Object); spec["serviceAccountName"] != "default" || spec["volumes"] == nil {
		t.Errorf("account %v, volumes %v", spec["serviceAccountName"], spec["volumes"])
	}
	owner := pod["metadata"].(Object)["ownerReferences"].([]any)[0].(Object)
	if owner["kind"] != "ReplicaSet" {
		t.Errorf("owned by %v", owner)
	}
}
