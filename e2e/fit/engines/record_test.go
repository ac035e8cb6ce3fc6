// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// record is the result of a run of the layouts.
type record struct {
	CPUs     int               `json:"cpus"`
	Versions map[string]string `json:"versions,omitempty"`
	Rows     []*row            `json:"rows"`
}

// row is one layout: cores and MiB.
type row struct {
	Layout string             `json:"layout"`
	Engine string             `json:"engine"`
	Flags  string             `json:"flags,omitempty"`
	Setup  string             `json:"setup,omitempty"`
	CPU    float64            `json:"cores"`
	Memory int                `json:"mebibytes"`
	Parent bool               `json:"limits_on_parent,omitempty"`
	Truth  reading            `json:"kernel"`
	Said   map[string]reading `json:"said"`
}

func newRecord(t *testing.T) *record {
	r := &record{CPUs: runtime.NumCPU(), Versions: map[string]string{"go": runtime.Version()}}
	for name, line := range map[string][]string{
		"linux": {"uname", "-r"}, "docker": {"dockerd", "--version"}, "containerd": {"containerd", "--version"}, "runc": {"runc", "--version"},
		"podman": {"podman", "--version"}, "bwrap": {"bwrap", "--version"}, "java": {java, "--version"},
		"automaxprocs": {"go", "list", "-m", "go.uber.org/automaxprocs"}, "automemlimit": {"go", "list", "-m", "github.com/KimMachineGun/automemlimit"},
	} {
		out, err := exec.Command(line[0], line[1:]...).Output()
		if err != nil {
			t.Fatalf("%v: %v: install the packages of e2e/packages.txt", line, err)
		}
		r.Versions[name], _, _ = strings.Cut(string(out), "\n")
		if name == "linux" { // the version without the name of the build
			r.Versions[name] = regexp.MustCompile(`^[0-9]+\.[0-9]+`).FindString(string(out))
		}
	}
	return r
}

func (r *record) row(y layout, truth reading) *row {
	one := &row{y.name, y.engine, strings.TrimSpace(y.flags), y.setup, y.cpu, y.memory, y.parent, truth, map[string]reading{}}
	r.Rows = append(r.Rows, one)
	return one
}

type column struct{ name, title string }

// columns lists the readers of the table.
var columns = []column{
	{"snug", "snug inside"}, {"--pid", "snug --pid, host"}, {"--pid, host", "from a container, host's namespace"},
	{"--pid, private, tree beside", "own namespace, tree beside"}, {"--pid, private", "own namespace, no tree"},
	{"runtime", "Go runtime"}, {"automaxprocs", "automaxprocs"}, {"automemlimit", "automemlimit"}, {"java", "JDK 17"},
}

// table formats the results, with wrong answers in bold. Unknown is not wrong.
func (r *record) table() string {
	var b strings.Builder
	b.WriteString("| layout | kernel |")
	columns := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !r.has(c.name) })
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|--|--|" + strings.Repeat("--|", len(columns)) + "\n")
	for _, one := range r.Rows {
		truth := one.Truth
		fmt.Fprintf(&b, "| %s | %s |", one.Layout, pair(cell(truth.CPU, ""), cell(truth.Memory, "")))
		for _, c := range columns {
			said := one.Said[c.name]
			limit := one.CPU
			if c.name == "automaxprocs" {
				limit = 1 // the figure is a GOMAXPROCS
			}
			fmt.Fprintf(&b, " %s |", pair(cell(said.CPU, verdict(said.CPU, truth.CPU, limit)),
				cell(said.Memory, verdict(said.Memory, truth.Memory, float64(one.Memory)))))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *record) has(reader string) bool {
	return slices.ContainsFunc(r.Rows, func(one *row) bool { _, ok := one.Said[reader]; return ok })
}

func pair(a, b string) string {
	switch {
	case a == "" && b == "":
		return "-"
	case a == "", b == "", a == b:
		return max(a, b)
	}
	return a + ", " + b
}

func cell(f figure, verdict string) string {
	text := f.Says
	if f.Says == limited {
		text = fmt.Sprintf("%.3g", f.Value)
	}
	if verdict == "wrong" {
		return "**" + text + "**"
	}
	return text
}

// write writes the record to the directory SNUG_RECORD, if it has all rows.
func (r *record) write(t *testing.T, what string, rows int) {
	t.Helper()
	to := os.Getenv("SNUG_RECORD")
	if to == "" || len(r.Rows) < rows {
		return
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAll(text, []byte("ID"))
	text = regexp.MustCompile(prefix+`[0-9]+`).ReplaceAll(text, []byte("engines"))
	for name, text := range map[string]string{what + ".json": string(text) + "\n", what + ".md": r.table()} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
