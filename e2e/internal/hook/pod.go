// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"strings"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// Stored returns in one line the parts of a pod that snug sets, init containers first, and the
// pod's snug annotations.
func Stored(pod kube.Object) (line, said string) {
	var all []string
	spec := pod["spec"].(kube.Object)
	for _, c := range append(List(spec["initContainers"]), List(spec["containers"])...) {
		var s []string
		for _, e := range List(c["env"]) {
			text := fmt.Sprintf("%v=%v", e["name"], e["value"])
			if from, ok := e["valueFrom"].(kube.Object); ok {
				ref, _ := from["resourceFieldRef"].(kube.Object)
				text = fmt.Sprintf("%v<%v/%v", e["name"], ref["resource"], ref["divisor"])
			}
			s = append(s, text)
		}
		for _, r := range List(c["resizePolicy"]) {
			s = append(s, fmt.Sprintf("%v:%v", r["resourceName"], r["restartPolicy"]))
		}
		all = append(all, fmt.Sprintf("%v{%s}", c["name"], strings.Join(s, " ")))
	}
	notes, _ := pod["metadata"].(kube.Object)["annotations"].(kube.Object)
	for _, key := range []string{"added", "observed", "skipped"} {
		if text, ok := notes["snug.dev/"+key].(string); ok {
			said += key + ": " + text
		}
	}
	return strings.Join(all, " "), said
}

// List returns a list of objects, empty if the value is no list.
func List(of any) []kube.Object {
	var all []kube.Object
	items, _ := of.([]any)
	for _, o := range items {
		all = append(all, o.(kube.Object))
	}
	return all
}
