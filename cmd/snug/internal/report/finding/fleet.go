// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/limits"
)

// Fleet is what the agents of a cluster have seen, by workload.
type Fleet struct {
	Head
	Asked
	Workloads []Workload `json:"workloads"`
	Unknown   []Gap      `json:"unknown"`
	Next      string     `json:"next"` // the one command to try next
}

// FleetDoctor is what is wrong in a cluster, worst first.
type FleetDoctor struct {
	Head
	Asked
	Findings []FleetDisorder `json:"findings"`
	Unknown  []Gap           `json:"unknown"`
	Next     string          `json:"next"` // the one command to try next
}

// Asked says which agents were asked, and how much they have seen.
type Asked struct {
	At         string        `json:"at"`     // when the agents were asked, RFC 3339
	Agents     int           `json:"agents"` // running or not
	Silent     []SilentAgent `json:"silent"` // of them, those whose nodes are not looked at
	Containers int           `json:"containers"`
	Processes  int           `json:"go_processes"`
	// Unsupported counts processes with Go in a library, and programs of gccgo, by workload.
	Unsupported []FleetUnsupported `json:"unsupported"`
}

// FleetUnsupported is the processes of a workload with a Go runtime that snug does not read. All names null
// = not a pod's.
type FleetUnsupported struct {
	Namespace *string `json:"namespace"`
	Workload  *string `json:"workload"`  // as in a fleet
	Container *string `json:"container"` // as in a fleet
	Processes int     `json:"processes"`
	Why       string  `json:"why"` // of one of them: the file with the Go code, and what it is
}

// FleetDisorder is a finding in containers of a workload.
type FleetDisorder struct {
	Namespace *string `json:"namespace"`
	Workload  *string `json:"workload"`  // as in a fleet
	Container *string `json:"container"` // as in a fleet
	Of        int     `json:"of"`        // containers of that workload
	FleetFinding
}

// Doctor returns what is wrong, worst first, and of equal severity what most containers have.
func (d *Fleet) Doctor() *FleetDoctor {
	out := &FleetDoctor{Head: NewHead(KindFleetDoctor), Asked: d.Asked, Findings: []FleetDisorder{}, Unknown: d.Unknown}
	for i := range d.Workloads {
		w := &d.Workloads[i]
		for _, f := range w.Findings {
			out.Findings = append(out.Findings, FleetDisorder{w.Namespace, w.Name, w.Container, w.Containers, f})
		}
	}
	slices.SortStableFunc(out.Findings, func(a, b FleetDisorder) int {
		return cmp.Or(cmp.Compare(b.Severity.Level(), a.Severity.Level()), cmp.Compare(a.ID, b.ID),
			cmp.Compare(b.Containers, a.Containers))
	})
	return out
}

// SilentAgent is an agent that did not answer.
type SilentAgent struct {
	Pod  string `json:"pod"`
	Node string `json:"node"` // "" = not scheduled
	Why  Why    `json:"why"`
}

// Workload is the containers of one name in all pods of a workload. Figures of a process are those of the
// first Go process of each container.
type Workload struct {
	Namespace *string `json:"namespace"`
	Name      *string `json:"workload"` // "Deployment/web"; null = unknown, or not a pod's
	// of several containers of a pod; with an unknown workload the pod's UID or the service's name
	Container  *string  `json:"container"`
	Containers int      `json:"containers"`
	Processes  int      `json:"go_processes"`
	Nodes      []string `json:"nodes"` // sorted

	Go         Span[string]       `json:"go_version"`
	GOMAXPROCS Span[int]          `json:"gomaxprocs"`
	CPUs       Span[int]          `json:"cpus"` // that the processes may run on: of the nodes, without a cpuset
	Quota      Span[float64]      `json:"quota_cores"`
	Used       figure.Of[float64] `json:"used_cores"` // together; unknown if it is of one
	Throttled  Span[float64]      `json:"throttled_ratio"`
	Filled     Span[float64]      `json:"memory_ratio"` // memory that cannot be reclaimed, of the limit
	Limit      Span[int64]        `json:"memory_limit_bytes"`
	GOMEMLIMIT Span[int64]        `json:"gomemlimit_bytes"`
	GC         Span[float64]      `json:"gc_cpu_ratio"`

	Findings []FleetFinding `json:"findings"` // worst first
}

// Span holds the least and the largest figure of several containers. Both are none if all are none, and
// unknown if no figure is known.
type Span[T any] struct {
	Least   figure.Of[T] `json:"least"`
	Most    figure.Of[T] `json:"most"`
	None    int          `json:"none"`    // containers in which there is none: no limit, or unset
	Unknown int          `json:"unknown"` // containers of which it is not known
}

// FleetFinding is one finding in some containers of a workload.
type FleetFinding struct {
	Finding
	Containers int    `json:"containers"`
	Pod        string `json:"pod"`  // the first of them: evidence, title and fix are about it
	Node       string `json:"node"` // of this pod; "" = unknown
}

// Worst returns the highest severity among the findings; "" without any.
func (w *Workload) Worst() Severity {
	if len(w.Findings) == 0 {
		return ""
	}
	return w.Findings[0].Severity
}

// Warns reports whether something is at least a warning, in whatever order the workloads are.
func (d *Fleet) Warns() bool {
	return Warned(d.Workloads, (*Workload).Worst) > 0
}

// Add adds a container with at least one process, and the name of its node, "" = unknown.
func (w *Workload) Add(c *Container, node string) {
	p := &c.Processes[0]
	if w.Containers == 0 {
		w.Used = c.Used
		w.Nodes, w.Findings = []string{}, []FleetFinding{}
	} else if w.Used.Known() && c.Used.Known() {
		w.Used.N += c.Used.N
	} else {
		w.Used = figure.Of[float64]{}
	}
	w.Containers++
	w.Processes += len(c.Processes)
	if at, there := slices.BinarySearch(w.Nodes, node); !there && node != "" {
		w.Nodes = slices.Insert(w.Nodes, at, node)
	}
	spread(&w.Go, p.GoVersion, CompareGo)
	spread(&w.GOMAXPROCS, p.GOMAXPROCS, cmp.Compare)
	spread(&w.CPUs, p.CPUs, cmp.Compare)
	spread(&w.Quota, c.Quota, cmp.Compare)
	spread(&w.Throttled, c.Throttled, cmp.Compare)
	spread(&w.Filled, c.Filled(), cmp.Compare)
	spread(&w.Limit, c.MemoryLimit, cmp.Compare)
	spread(&w.GOMEMLIMIT, p.GOMEMLIMIT, cmp.Compare)
	spread(&w.GC, p.GC, cmp.Compare)
	seen := map[string]bool{} // in this container
	for i := range c.Processes {
		for _, f := range c.Processes[i].Findings {
			if !seen[f.ID] {
				seen[f.ID] = true
				w.found(f, c, node)
			}
		}
	}
}

// found adds a finding of a container. The gravest of one id is shown.
func (w *Workload) found(f Finding, c *Container, node string) {
	one := FleetFinding{Finding: f, Containers: 1, Pod: c.PodName(), Node: node}
	if i := slices.IndexFunc(w.Findings, func(o FleetFinding) bool { return o.ID == f.ID }); i >= 0 {
		w.Findings[i].Containers++
		if f.Severity.Level() <= w.Findings[i].Severity.Level() {
			return
		}
		one.Containers = w.Findings[i].Containers
		w.Findings = slices.Delete(w.Findings, i, i+1)
	}
	w.Findings = append(w.Findings, one)
	slices.SortStableFunc(w.Findings, func(a, b FleetFinding) int {
		return cmp.Compare(b.Severity.Level(), a.Severity.Level())
	})
}

func spread[T any](s *Span[T], f figure.Of[T], compare func(a, b T) int) {
	switch f.State {
	case limits.None:
		s.None++
	case limits.Unknown:
		s.Unknown++
	}
	switch known := s.Least.Known(); {
	case !known && (f.State != limits.None || s.Unknown == 0):
		s.Least, s.Most = f, f
	case !known || !f.Known():
	case compare(f.N, s.Least.N) < 0:
		s.Least = f
	case compare(f.N, s.Most.N) > 0:
		s.Most = f
	}
}

// Filled returns the used share of the memory limit.
func (c *Container) Filled() (share figure.Of[float64]) {
	if c.MemoryLimit.Known() && c.Unreclaimable.Known() && c.MemoryLimit.N > 0 {
		share.Know(float64(c.Unreclaimable.N)/float64(c.MemoryLimit.N), "")
	}
	return share
}

// PodName returns the name of the pod, its UID if that is unknown, or the name of the service.
func (c *Container) PodName() string {
	switch {
	case c.Namespace != nil && c.Pod != nil:
		return *c.Namespace + "/" + *c.Pod
	case c.Unit != nil:
		return *c.Unit
	case c.PodUID != nil:
		return *c.PodUID
	}
	return ""
}

// CompareGo compares versions of Go, such as "go1.26.8 X:nogreenteagc".
func CompareGo(a, b string) int {
	key := func(v string) []int {
		v, _, _ = strings.Cut(strings.TrimPrefix(v, "go"), " ")
		var parts []int
		for word := range strings.SplitSeq(v, ".") {
			n, _ := strconv.Atoi(word)
			parts = append(parts, n)
		}
		return parts
	}
	return slices.Compare(key(a), key(b))
}

// FleetSize is which containers the workloads of a cluster need, by what its agents have seen of them: those at risk
// first, then those that would save most.
type FleetSize struct {
	Head
	At         string          `json:"at"`     // when the agents were asked, RFC 3339
	Agents     int             `json:"agents"` // running or not
	Silent     []SilentAgent   `json:"silent"` // of them, those whose nodes are not looked at
	Containers int             `json:"containers"`
	Price      SizePrice       `json:"price"`
	Saves      float64         `json:"saves"` // what workloads could save together, in the unit of the price
	Costs      float64         `json:"costs"` // what the others need more
	Workloads  []SizedWorkload `json:"workloads"`
	Gone       int             `json:"gone"`     // workloads that were seen and have no container now: not listed
	LeftOut    int             `json:"left_out"` // workloads that agents have no room for, counted on each node
	Unknown    []Gap           `json:"unknown"`
	Next       string          `json:"next"` // the one command to try next
}

// SizedWorkload is the container that each of a workload's containers of one name needs. Memory is valued by its limit.
type SizedWorkload struct {
	Namespace  *string `json:"namespace"`
	Name       *string `json:"workload"`  // as in a fleet
	Container  *string `json:"container"` // as in a fleet
	Containers int     `json:"containers"`
	Nodes      int     `json:"nodes"`
	Days       float64 `json:"seen_days"` // for which one node at most has seen it

	Memory     SizeValue `json:"memory_limit_bytes"` // what each needs
	GOMEMLIMIT SizeValue `json:"gomemlimit_bytes"`
	CPURequest SizeValue `json:"cpu_request_cores"`
	CPULimit   SizeValue `json:"cpu_limit_cores"`

	HasMemory  Span[float64] `json:"has_memory_limit_bytes"`
	HasRequest Span[float64] `json:"has_cpu_request_cores"` // unknown if several requests give the weight
	HasQuota   Span[float64] `json:"has_cpu_limit_cores"`

	// by all containers together, in the unit of the price; below 0 = it costs more; null = unknown
	Saves   *float64 `json:"saves"`
	Risks   []Why    `json:"risks"`    // gravest first
	Modeled bool     `json:"modelled"` // false: the heap is unknown, and all memory in use counts as needed
	Seen    SizeSeen `json:"seen"`
	Unseen  []Why    `json:"unseen"` // what agents could not see
}
