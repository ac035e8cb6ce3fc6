// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// OpenSearch creates the record of a search, or opens an existing one to resume. A search
// chooses its runs by the earlier ones, so its header has no arms but the baseline's.
// Instead it has what the choices depend on besides the runs, by name: all of this must
// be the same when the search is resumed. See [Record.Take].
func OpenSearch(path string, search map[string]string, base Arm, setup finding.Setup) (*Record, error) {
	d := Design{Arms: []Arm{base}, Seed: setup.Seed}
	return openRecord(path, &header{finding.NewHead(kindRecord), d, setup, search})
}

// searches returns an error if one of two records is that of a search and the other is
// not, or if the searches differ.
func (h *header) searches(now *header, path string) error {
	if (h.Search == nil) != (now.Search == nil) {
		kind := map[bool]string{true: "snug bench", false: "snug tune"}
		return another(path, fmt.Sprintf("command is %s there, %s here", kind[h.Search == nil], kind[now.Search == nil]))
	}
	for _, name := range slices.Sorted(maps.Keys(now.Search)) {
		if then, here := h.Search[name], now.Search[name]; then != here {
			return another(path, fmt.Sprintf("%s: %q there, %q here", name, then, here))
		}
	}
	return nil
}

// Take returns the next run of an earlier start, which must be that of the trial; false if
// there is no more. Runs that Take returns are not written again.
func (rec *Record) Take(t Trial) (finding.Run, bool, error) {
	if rec == nil || rec.taken == len(rec.kept) {
		return finding.Run{}, false, nil
	}
	r := rec.kept[rec.taken]
	rec.taken++
	if r.Arm != t.Arm || r.Round != t.Round || r.Try != t.Try || r.Seed != t.Seed {
		return finding.Run{}, false, &RecordError{
			What: fmt.Sprintf("damaged record: a run that this search does not ask for, %s:%d", rec.path, rec.taken+1),
			Cure: "give another file name to start anew",
		}
	}
	return r, true, nil
}

// Add writes a run of a trial.
func (rec *Record) Add(t Trial, r finding.Run) error {
	r.Arm, r.Round, r.Order, r.Try, r.Seed = t.Arm, t.Round, t.Order, t.Try, t.Seed
	return rec.add(r)
}
