// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// mixedComment marks the sum of profiles of several samplers.
const mixedComment = "snug: sum of profiles of several samplers"

// ErrUnlike means that profiles cannot be added up, because they count different things.
var ErrUnlike = errors.New("profiles of different kinds")

// Merge returns the sum of CPU profiles: of their samples, and of their durations. They must
// have the same values; those of Capture and of runtime/pprof do. The error may be ErrUnlike or
// ErrNotCPU, or says that the sum does not fit an int64.
func Merge(all []*profile.Profile) (*profile.Profile, error) {
	mixed := false
	for _, p := range all {
		if _, err := cpuValues(p); err != nil {
			return nil, err
		}
		if first, other := valueTypes(all[0]), valueTypes(p); !slices.Equal(first, other) {
			return nil, fmt.Errorf("%w: one counts %s, another %s", ErrUnlike, inWords(first), inWords(other))
		}
		if len(p.SampleType) == 1 && p.Period != all[0].Period {
			return nil, fmt.Errorf("%w: their samples stand for different times", ErrUnlike)
		}
		mixed = mixed || sourceOf(p) != sourceOf(all[0])
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnlike, err)
	}
	if _, err := cpuValues(sum); err != nil {
		return nil, errors.New("the sum of the profiles is too large for their format")
	}
	if mixed {
		sum.Comments = append(sum.Comments, mixedComment)
	}
	return sum, nil
}

// ForPGO reports whether go build -pgo can use a profile: it has counts of samples or CPU
// nanoseconds, and functions with the line on which they begin, as those of Go 1.20 and later have
// (cmd/internal/pgo, FromPProf).
func ForPGO(p *profile.Profile) bool {
	counts, starts := false, false
	for _, t := range p.SampleType {
		counts = counts || t.Type == "samples" && t.Unit == "count" || t.Type == "cpu" && t.Unit == "nanoseconds"
	}
	for _, f := range p.Function {
		starts = starts || f.StartLine > 0
	}
	return counts && starts
}
