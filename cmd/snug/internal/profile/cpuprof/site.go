// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// Demand is work that a program's code asks of the runtime or the kernel. Its text, after the name
// of a function, is a sentence.
type Demand string

const (
	StartsGoroutines Demand = "starts goroutines"
	SetsTimers       Demand = "sets timers"
	Sleeps           Demand = "sleeps"
	Receives         Demand = "receives from channels"
	Selects          Demand = "selects among channels"
	Sends            Demand = "sends to channels"
	Yields           Demand = "yields"
	WaitsForGroup    Demand = "counts in a WaitGroup"
	WaitsForCond     Demand = "waits for or wakes a Cond"
	TakesMutexes     Demand = "takes mutexes"
	WaitsForPoll     Demand = "waits for connections"
	CallsKernel      Demand = "calls the kernel"
	UsesConnections  Demand = "reads and writes connections"
	CallsDeep        Demand = "calls deep" // no call of the runtime, but a stack of deepCalls or more
)

// deepCalls is the number of calls from which a stack is deep: handlers of net/http that encode
// JSON have some 40.
const deepCalls = 64

// demands lists the functions by which code makes each demand, in all of Go 1.18 to 1.27. A name
// that ends in * is a prefix.
var demands = map[Demand]string{
	StartsGoroutines: "runtime.newproc",
	SetsTimers: "time.startTimer " + // to 1.22
		"time.newTimer " + // since 1.23
		"time.stopTimer time.resetTimer time.modTimer",
	Sleeps:        "time.Sleep",
	Receives:      "runtime.chanrecv*",
	Selects:       "runtime.selectgo runtime.selectnb*",
	Sends:         "runtime.chansend*",
	Yields:        "runtime.Gosched",
	WaitsForGroup: "sync.(*WaitGroup).*",
	WaitsForCond:  "sync.(*Cond).*",
	TakesMutexes:  "sync.(*Mutex).* sync.(*RWMutex).* internal/sync.(*Mutex).*", // internal since 1.24
	WaitsForPoll:  "internal/poll.runtime_poll*",
	CallsKernel:   strings.ReplaceAll(rules[Syscall], " entersyscall exitsyscall", ""),
}

// Demands of functions by full name, and by prefix.
var exactDemand, prefixDemand = byName(demands, func(d Demand) Demand { return d }, strings.Clone)

// demandOf returns the demand that a call of a function makes; "" = none.
func demandOf(function string) Demand {
	d, _ := lookUp(plainName(function), exactDemand, prefixDemand)
	return d
}

// standard lists the first elements of the import paths of the standard library.
var standard = strings.Fields("archive bufio bytes cmp compress container context crypto database debug embed " +
	"encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin " +
	"reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe " +
	"vendor weak")

// isStandard reports whether a Go function is of the standard library.
func isStandard(function string) bool {
	first, _, _ := strings.Cut(packageOf(plainName(function)), "/")
	return slices.Contains(standard, first)
}

// Site is a function of the program that makes a demand.
type Site struct {
	Demand   Demand  `json:"demand"`
	Function string  `json:"function"`
	At       string  `json:"at,omitempty"` // file and line with most of its CPU time, "main.go:31"; "" = unknown
	Samples  int64   `json:"samples"`      // stacks that show it; 0 = unknown
	Ratio    float64 `json:"ratio"`        // their share of all CPU time, 0 to 1
}

// sites adds up the stacks that show a demand. The scheduler runs on stacks of its own, which
// do not show why it runs. The stacks of the code that called it do.
type sites struct {
	sorter *sorter
	found  map[siteKey]*siteCost
}

type siteKey struct {
	demand   Demand
	function string
}

type siteCost struct {
	samples, ns float64
	lines       map[string]float64 // CPU ns by file and line
}

// add counts a sample of a class for its innermost demand and for the function that makes it: the
// innermost one that is not of the standard library, or, where there is none, the outermost that
// is not of the runtime.
func (s *sites) add(sample *profile.Sample, class Class, n, ns float64) {
	var demand Demand
	if len(sample.Location) >= deepCalls && class == User {
		demand = CallsDeep
	}
	var by *profile.Line
	for _, l := range sample.Location {
		for i := range l.Line {
			line := &l.Line[i]
			if line.Function == nil {
				continue
			}
			k := s.sorter.of(line.Function)
			if demand == "" {
				demand = k.demand
			}
			if k.rank != ranks[User] {
				continue
			}
			if demand == CallsKernel && k.connection {
				demand = UsesConnections
			}
			if by = line; !k.standard {
				s.count(demand, by, n, ns)
				return
			}
		}
	}
	if class != Timers { // what timers do when they expire, in time.sendTime or time.goFunc
		s.count(demand, by, n, ns)
	}
}

func (s *sites) count(demand Demand, by *profile.Line, n, ns float64) {
	if demand == "" || by == nil {
		return
	}
	key := siteKey{demand, CleanName(by.Function.Name)}
	c := s.found[key]
	if c == nil {
		c = &siteCost{lines: map[string]float64{}}
		s.found[key] = c
	}
	c.samples += n
	c.ns += ns
	if by.Function.Filename != "" && by.Line > 0 {
		c.lines[CleanName(path.Base(by.Function.Filename)+":"+strconv.FormatInt(by.Line, 10))] += ns
	}
}

// list returns the sites, largest first, at most maxTop for a demand.
func (s *sites) list(totalNanos float64) []Site {
	var all []Site
	for key, c := range s.found {
		site := Site{Demand: key.demand, Function: key.function, Samples: int64(min(c.samples, 1<<62)),
			Ratio: c.ns / totalNanos}
		most := 0.0
		for at, ns := range c.lines {
			if ns > most || ns == most && at < site.At {
				site.At, most = at, ns
			}
		}
		all = append(all, site)
	}
	slices.SortStableFunc(all, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Demand, b.Demand))
	})
	count := map[Demand]int{}
	return slices.Clip(slices.DeleteFunc(all, func(s Site) bool {
		count[s.Demand]++
		return count[s.Demand] > maxTop
	}))
}

// Asks returns the demand of a call stack, innermost function first, and the index of the function
// that makes it, as Site has them. Without a demand it is the function that would; -1 = none.
func Asks(stack []string) (demand Demand, by int) {
	by = -1
	for i, function := range stack {
		if demand == "" {
			demand = demandOf(function)
		}
		if rankOf(function) != ranks[User] {
			continue
		}
		if by = i; !isStandard(function) {
			break
		}
	}
	return demand, by
}
