// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/internal/plan"
)

// RowForm is the form of a row of ReadRows.
const RowForm = "NAMESPACE KIND NAME CONTAINER BYTES SECONDS"

// maxRows bounds the rows that are read. It is more than fits in a ConfigMap.
const maxRows = 100_000

// Wrong is a row that cannot be read, or an input with a wrong number of them.
type Wrong struct {
	Line int // from 1; 0 = the input as a whole
	What string
	Hint string // "" = none of its own
}

func (w *Wrong) Error() string { return w.What }

// maxSeconds bounds the time of a row, as podpatch.MeasuredPattern does.
const maxSeconds = 9_999_999_999

// ReadRows reads rows of the form RowForm, one a line: the largest memory of the container that is not
// Go's, in bytes or as 300MiB, and for how many seconds it was seen until a time. Of several rows of
// a container the largest memory and the longest time count. Empty lines and those that begin with #
// are skipped. long are the keys that no ConfigMap can have; these are left out. Wrong rows are
// errors of type *Wrong, and others are those of r.
func ReadRows(r io.Reader, until time.Time) (peaks Peaks, long []string, err error) {
	peaks = Peaks{}
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		key, short, m, what := row(words)
		switch {
		case what != "":
			return nil, nil, &Wrong{Line: n, What: what}
		case words[1][0] < 'A' || words[1][0] > 'Z':
			return nil, nil, &Wrong{n, "not a kind: " + words[1], "a kind begins with a capital letter, as in Deployment"}
		case m.Peak > 0 && m.Peak < 1<<20:
			return nil, nil, &Wrong{n, "less than any Go program has: " + words[4], "write a unit, as in 300MiB"}
		case !short:
			long = append(long, key)
			continue
		case len(peaks) == maxRows:
			return nil, nil, &Wrong{Line: n, What: "too many rows"}
		}
		old := peaks[key]
		peaks[key] = podpatch.Measured{Peak: max(old.Peak, m.Peak), Seconds: max(old.Seconds, m.Seconds), Until: until}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, nil, &Wrong{Line: n + 1, What: "a line of more than 64 KiB"}
	case err != nil:
		return nil, nil, err
	case len(peaks)+len(long) == 0:
		return nil, nil, &Wrong{What: "no rows"}
	}
	return peaks, long, nil
}

// row reads the words of one row. what says what is wrong with it, "" = nothing; short is false for a key
// that is too long.
func row(words []string) (key string, short bool, m podpatch.Measured, what string) {
	if len(words) != 6 {
		return "", false, m, fmt.Sprintf("%d words, not %s", len(words), RowForm)
	}
	namespace, kind, name, container := words[0], words[1], words[2], words[3]
	bytes, ok := plan.ParseBytes(words[4])
	seconds, err := strconv.ParseInt(words[5], 10, 64)
	switch {
	case !podpatch.IsName(namespace):
		what = "not a namespace: " + words[0]
	case len(kind) > 63 || !isWorkload(kind+"/a"):
		what = "not a kind: " + kind
	case !objectName.MatchString(name):
		what = "not the name of a workload: " + name
	case !podpatch.IsName(container):
		what = "not the name of a container: " + container
	case words[4] != "0" && !ok || bytes < 0 || bytes >= podpatch.MaxBytes:
		what = "not a size: " + words[4]
	case err != nil || seconds < 1 || seconds > maxSeconds:
		what = "not a number of seconds: " + words[5]
	}
	key, short = podpatch.MeasuredKey(namespace, kind+"/"+name, container)
	return key, short, podpatch.Measured{Peak: bytes, Seconds: seconds}, what
}

// objectName matches the name of a workload, without a bound.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// Fits reports whether the peaks fit in a ConfigMap.
func (p Peaks) Fits() bool {
	size := 0
	for key, m := range p {
		size += len(key) + len(m.String())
	}
	return size <= maxText
}

// YAML returns the manifest of a ConfigMap with the peaks, sorted by key.
func (p Peaks) YAML(namespace, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The largest memory that is not Go's, by namespace, workload and container.
apiVersion: v1
kind: ConfigMap
metadata:
  name: %q
  namespace: %q
data:
`, name, namespace)
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "  %q: %q\n", key, p[key].String())
	}
	return b.String()
}
