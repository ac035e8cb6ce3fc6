// SPDX-License-Identifier: Apache-2.0

package serve

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
)

// containerLabels are the labels of a container's series: its names, or if these are unknown
// its pod's UID and the beginning of its own id, which changes at each restart. Unknown labels are empty, which
// to Prometheus means absent. No part of a command line or an environment is ever a label.
var containerLabels = [...]string{"namespace", "pod", "container", "pod_uid", "container_id"}

// family describes a metric.
type family struct {
	name, help string
	kind       promtext.Type
	labels     []string // in addition to those of the container
}

// table has a line for each metric. To add one, add a line, and use its name.
//
//go:embed metrics.txt
var table string

// families returns all metrics, in the order of the page.
var families = sync.OnceValue(func() []family {
	var all []family
	for line := range strings.Lines(table) {
		if word := strings.SplitN(strings.TrimSpace(line), " ", 4); word[0] != "#" {
			f := family{name: word[0], kind: promtext.Type(word[1]), help: word[3]}
			if word[2] != "-" {
				f.labels = strings.Split(word[2], ",")
			}
			all = append(all, f)
		}
	}
	return all
})

// places has the indices of families by name.
var places = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for i, f := range families() {
		all[f.name] = i
	}
	return all
})
