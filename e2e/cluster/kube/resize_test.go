// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"
)

// resizes: the policy warns of an in-place resize that leaves a variable unchanged, and of no other
// resize.
func (p *policies) resizes(t *testing.T) {
	p.apply(t, "")
	// This node declares enough capacity for any resize.
	capacity := Object{"cpu": "64", "memory": "64Gi", "pods": "110"}
	Must(t, p.Create(t, "/api/v1/nodes", Object{"metadata": Object{"name": "node"}, "status": Object{"allocatable": capacity, "capacity": capacity,
		"declaredFeatures": []any{"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"}}}))
	t.Cleanup(func() { p.Delete(t, "/api/v1/nodes/node") })
	const (
		plain = `containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1}}}]`
		own   = `containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: VALUE}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`
		kinds = `initContainers: [{name: i, image: x, resources: {limits: {memory: 512Mi, cpu: 1}}}, {name: s, image: x, restartPolicy: Always, resources: {limits: {memory: 512Mi, cpu: 1}}}],
     containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1}}}]`
	)
	more, both := Object{"memory": "1Gi", "cpu": "1"}, Object{"memory": "256Mi", "cpu": "2"}
	for i, c := range []struct {
		name, labels, spec string
		patch              Object
		want               string // "" = no warning
	}{
		{"memory, of which a variable was made", "", plain, resized("containers", "a", more), "GOMEMLIMIT of a left stale"},
		{"less memory and more CPU", "gomaxprocs=enabled", plain, resized("containers", "a", both), "GOMAXPROCS of a, GOMEMLIMIT of a left stale"},
		{"memory, of a pod that is opted out", "inject=disabled", plain, resized("containers", "a", more), ""},
		{"CPU, where GOMAXPROCS is not set", "", plain, resized("containers", "a", Object{"memory": "512Mi", "cpu": "2"}), ""},
		{"CPU, where GOMAXPROCS is set", "gomaxprocs=enabled", plain, resized("containers", "a", Object{"memory": "512Mi", "cpu": "2"}), "GOMAXPROCS of a left stale"},
		{"the same in other words", "", plain, resized("containers", "a", Object{"memory": "0.5Gi", "cpu": "1000m"}), ""},
		{"a container that restarts", "restart-on-resize=enabled gomaxprocs=enabled", plain, resized("containers", "a", both), "GOMEMLIMIT of a left stale"},
		{"a variable of one's own", "", strings.Replace(own, "VALUE", "100MiB", 1), resized("containers", "a", more), "GOMEMLIMIT of a left stale"},
		{"no limit", "", strings.Replace(own, "VALUE", `"off"`, 1), resized("containers", "a", more), ""},
		{"a sidecar", "", kinds, resized("initContainers", "s", more), "GOMEMLIMIT of s left stale"},
		{"an init container", "", kinds, resized("initContainers", "i", more), ""},
		{"a request alone", "", `containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1}, requests: {memory: 100Mi, cpu: 100m}}}]`,
			Object{"spec": Object{"containers": []any{Object{"name": "a", "resources": Object{"requests": Object{"memory": "200Mi", "cpu": "100m"}}}}}}, ""},
		{"the pod's limit", "", `resources: {limits: {memory: 1Gi, cpu: 1}}, containers: [{name: a, image: x}]`,
			Object{"spec": Object{"resources": Object{"limits": Object{"memory": "2Gi"}, "requests": Object{"memory": "2Gi"}}}}, "GOMEMLIMIT of a left stale"},
		{"the pod's limit above a container's", "", `resources: {limits: {memory: 1Gi}, requests: {memory: 512Mi}}, ` + plain,
			Object{"spec": Object{"resources": Object{"limits": Object{"memory": "2Gi"}}}}, ""},
		{"who is opted out", "inject=disabled", strings.Replace(own, "VALUE", "100MiB", 1), resized("containers", "a", more), ""},
		{"a reference", "", `containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`,
			resized("containers", "a", more), "GOMEMLIMIT of a left stale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const pods = "/api/v1/namespaces/in/pods"
			name := fmt.Sprintf("resized-%d", i)
			s := situation{namespace: in, labels: c.labels, spec: "nodeName: node, " + c.spec}
			pod := Must(t, p.Create(t, pods, s.manifest(name))).Object
			t.Cleanup(func() { p.Delete(t, pods+"/"+name) })
			Must(t, p.Patch(t, pods+"/"+name+"/status", Object{"status": running(pod)}))
			a := Must(t, p.Patch(t, pods+"/"+name+"/resize", c.patch))
			said := complaints(a)
			switch {
			case c.want == "" && len(said) > 0:
				t.Errorf("complaints %q, want none", said)
			case c.want != "" && (len(said) != 1 || !strings.Contains(said[0], c.want)):
				t.Errorf("complaints %q, want %s", said, c.want)
			}
			if after := stored(a.Object); after != stored(pod) {
				t.Errorf("the resize stored %s, before %s", after, stored(pod))
			}
		})
	}
}

// running returns the status of a running pod, as the kubelet writes it. A running container
// without resources in its status is on a node that cannot resize.
func running(pod Object) Object {
	statuses := Object{"initContainerStatuses": []any{}, "containerStatuses": []any{}}
	for _, kind := range []string{"initContainers", "containers"} {
		key := strings.TrimSuffix(kind, "s") + "Statuses"
		for _, c := range list(pod["spec"].(Object)[kind]) {
			state := Object{"running": Object{}}
			if kind == "initContainers" && c["restartPolicy"] == nil {
				state = Object{"terminated": Object{"exitCode": 0}}
			}
			statuses[key] = append(statuses[key].([]any), Object{"name": c["name"], "image": "x", "imageID": "x", "ready": true,
				"restartCount": 0, "state": state, "resources": c["resources"]})
		}
	}
	statuses["phase"] = "Running"
	return statuses
}
