// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// parse reads a record: its header, its runs, and the length of the complete lines in
// bytes. The header is nil if there is no complete line. A kill, a full disk or a power
// loss can tear the last line: parse ignores it if it is incomplete or invalid.
func parse(data []byte, path string) (h *header, runs []finding.Run, size int64, err error) {
	for number, rest := 1, data; len(rest) > 0; number++ {
		text, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		last := len(after) == 0
		rest = after
		if h == nil {
			if h = readHeader(text); h == nil {
				return nil, nil, 0, foreign(path)
			}
		} else {
			var l line
			if err := strict(text, &l); err != nil {
				if last {
					break
				}
				return nil, nil, 0, &RecordError{
					What: fmt.Sprintf("%s:%d: damaged record: %s", path, number, finding.Wrong(err)),
					Cure: "give another file name to start anew",
				}
			}
			l.Run.Arm = l.Arm
			runs = append(runs, l.Run)
		}
		size = int64(len(data) - len(rest))
	}
	if h == nil && !torn(data) {
		return nil, nil, 0, foreign(path)
	}
	return h, runs, size, nil
}

func readHeader(text []byte) *header {
	h := new(header)
	if json.Unmarshal(text, h) != nil || h.Snug != finding.Version || h.Kind != kindRecord {
		return nil
	}
	return h
}

// strict decodes a line, which must have an arm.
func strict(text []byte, l *line) error {
	var has struct {
		Arm *json.RawMessage `json:"arm"`
	}
	if err := json.Unmarshal(text, &has); err != nil {
		return err
	}
	if has.Arm == nil {
		return fmt.Errorf("a line without an arm")
	}
	return json.Unmarshal(text, l)
}

// torn reports whether data is empty or the beginning of a header. Any other file is left
// alone.
func torn(data []byte) bool {
	begin := fmt.Sprintf(`{"snug":%q,"kind":%q,`, finding.Version, kindRecord)
	n := min(len(data), len(begin))
	return string(data[:n]) == begin[:n]
}

func foreign(path string) error {
	return &RecordError{
		What: "--record " + path + ": not a record of snug " + finding.Version,
		Cure: "give the name of a new file, or of the record to resume",
	}
}

// differs returns an error if the record is not that of the experiment now. It names the
// first difference.
func (h *header) differs(now *header, path string) error {
	old, was, d, s := &h.Design, &h.Setup, &now.Design, &now.Setup
	if err := h.searches(now, path); err != nil {
		return err
	}
	for _, p := range []struct {
		name      string
		then, now any
	}{
		{"command is", strings.Join(was.Command, " "), strings.Join(s.Command, " ")},
		{"URL is", was.URL, s.URL},
		{"load command is", was.LoadCommand, s.LoadCommand},
		{"prepare command is", was.Prepare, s.Prepare},
		{"rounds are", old.Rounds, d.Rounds},
		{"seed is", old.Seed, d.Seed},
		{"tries are", old.tries(), d.tries()},
		{"program (SHA-256) is", was.Program, s.Program},
		{"request is", request(was.Request), request(s.Request)},
		{"seconds of warm-up are", was.WarmUp, s.WarmUp},
		{"seconds of the window are", was.Window, s.Window},
		{"no limit is", was.NoLimit, s.NoLimit},
		{"number of arms is", len(old.Arms), len(d.Arms)},
		{"version of snug is", was.Version, s.Version},
		{"system is", was.Machine.OS + "/" + was.Machine.Arch, s.Machine.OS + "/" + s.Machine.Arch},
		{"kernel is", was.Machine.Kernel, s.Machine.Kernel},
		{"number of CPUs is", was.Machine.CPUs, s.Machine.CPUs},
		{"CPU is", was.Machine.CPUModel, s.Machine.CPUModel},
		{"Go version is", was.Machine.Go, s.Machine.Go},
		{"cgroup way is", was.Machine.CgroupWay, s.Machine.CgroupWay},
	} {
		if p.then != p.now {
			return another(path, fmt.Sprintf("%s %s there, %s here", p.name, shown(p.then), shown(p.now)))
		}
	}
	for i, a := range d.Arms {
		if o := old.Arms[i]; o.Arm != a.Arm || o.Rate != a.Rate {
			return another(path, fmt.Sprintf("arm %d is %s there, %s here", i+1, o, a))
		}
	}
	return nil
}

// request returns the description of the requests as text.
func request(r *finding.Request) string {
	text, _ := json.Marshal(r) // of plain fields: it cannot fail
	return string(text)
}

func another(path, difference string) error {
	return &RecordError{
		What: fmt.Sprintf("--record %s: another experiment's record (the %s)", path, difference),
		Cure: "give another file name, or the other experiment's flags to resume it",
	}
}

func shown(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
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
