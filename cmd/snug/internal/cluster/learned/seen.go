// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Left is a container whose memory is not among the peaks.
type Left struct{ Name, Why string }

// OfAgents returns the peaks of what agents have seen until a time, and the containers that have none. long are the keys
// that no ConfigMap can have.
func OfAgents(all []finding.OtherMemory, until time.Time) (peaks Peaks, long []string, left []Left) {
	peaks = Peaks{}
	for i := range all {
		o := &all[i]
		kind, name, _ := strings.Cut(o.Workload, "/")
		why := ""
		switch {
		case o.Most == nil:
			why = strings.TrimSuffix("its memory that is not Go's is unknown, "+o.Why, ", ")
		case kind == "Pod":
			why = "it has no controller, or its controller is unknown"
		}
		title := o.Namespace + "/" + o.Workload + " " + o.Container
		if why != "" {
			left = append(left, Left{title, why})
			continue
		}
		if !(*o.Most >= 0 && *o.Most <= 1e18) || !(o.Seconds >= 0 && o.Seconds <= 1e18) {
			left = append(left, Left{title, "no agent has seen that"})
			continue
		}
		key, short, m, what := row([]string{o.Namespace, kind, name, o.Container,
			strconv.FormatInt(int64(math.Ceil(*o.Most)), 10), fmt.Sprintf("%.0f", math.Floor(o.Seconds))})
		switch {
		case what != "":
			left = append(left, Left{title, what})
			continue
		case !short:
			long = append(long, key)
			continue
		}
		m.Until = until
		peaks[key] = m
	}
	return peaks, long, left
}
