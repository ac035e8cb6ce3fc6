// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Measured is the memory of a container of a workload that is not Go's, as measured. The zero Measured
// is not measured.
type Measured struct {
	Peak    int64     // the largest, in bytes, below MaxBytes
	Seconds int64     // for how long it was measured, at least 1
	Until   time.Time // the day on which the measurement ended
}

// Known reports whether it was measured.
func (m Measured) Known() bool { return m.Seconds > 0 }

// MeasuredPattern matches the text of a Measured. Both RE2, of CEL, and Go read it.
const MeasuredPattern = `^(0|[1-9][0-9]{0,17}) bytes in [1-9][0-9]{0,9} s until 20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`

var measuredText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(MeasuredPattern) })

// String returns the text that ParseMeasured reads: "314572800 bytes in 604800 s until 2026-11-27".
func (m Measured) String() string {
	return fmt.Sprintf("%d bytes in %d s until %s", m.Peak, m.Seconds, m.Until.UTC().Format(time.DateOnly))
}

// ParseMeasured reads the text of a Measured. It is as strict as the policies: a space more is wrong.
func ParseMeasured(text string) (Measured, bool) {
	if !measuredText().MatchString(text) {
		return Measured{}, false
	}
	words := strings.Split(text, " ")
	var m Measured
	m.Peak, _ = strconv.ParseInt(words[0], 10, 64)
	m.Seconds, _ = strconv.ParseInt(words[3], 10, 64)
	var day [3]int
	for i, part := range strings.Split(words[6], "-") {
		day[i], _ = strconv.Atoi(part)
	}
	m.Until = time.Date(day[0], time.Month(day[1]), day[2], 0, 0, 0, 0, time.UTC) // the 31st of June is the 1st of July
	return m, true
}

// MaxKeyLen bounds a key of a ConfigMap, in bytes.
// Source: k8s.io/apimachinery/pkg/util/validation, IsConfigMapKey.
const MaxKeyLen = 253

// MeasuredKey returns the key of a container of a workload, as package podid names it:
// shop_Deployment_web_app for "Deployment/web". A key of a ConfigMap may have letters, digits and -._;
// the name of a workload may have dots and dashes, but neither a namespace, a kind, the name of a
// workload nor that of a container has an underscore, so the key is of one container alone.
// It is false for a longer key than a ConfigMap can have.
func MeasuredKey(namespace, workload, container string) (string, bool) {
	kind, name, ok := strings.Cut(workload, "/")
	key := namespace + "_" + kind + "_" + name + "_" + container
	return key, ok && len(key) <= MaxKeyLen
}
