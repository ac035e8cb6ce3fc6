// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/goenv"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// sweep is what an experiment varies: limits, knobs, loads. An empty list means that the
// flag was not given.
type sweep struct {
	Workloads []string
	CPUs      []float64
	Memory    []int64
	procs     []string // "" is unset
	gogc      []string
	memlimit  []plan.Memory
	sets      []setting // besides all combinations of the three above
	Loads     []string
}

// parseKnob accepts "default" for unset, and writes equal numbers alike.
func parseKnob(ok func(string) bool) func(string) (string, bool) {
	return func(text string) (string, bool) {
		if text == "default" {
			return "", true
		}
		valid := ok(text)
		if n, err := strconv.Atoi(text); err == nil {
			text = strconv.Itoa(n)
		}
		return text, valid
	}
}

// ParseLoad accepts saturated, 80% (of capacity) and 800/s.
func ParseLoad(text string) (string, bool) {
	if text == runner.LoadSaturated {
		return text, true
	}
	for _, unit := range []string{"%", "/s"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			x, err := strconv.ParseFloat(number, 64)
			return units.Exact(x) + unit, err == nil && x > 0 && x <= 1e6
		}
	}
	return text, false
}

// parseURL accepts an http or https URL, and any other with a host and a port: snug can wait
// until something listens there. See checkCommands.
func parseURL(text string) (string, bool) {
	u, err := url.Parse(text)
	return text, err == nil && u.Hostname() != "" && (isHTTP(text) || u.Scheme != "" && u.Port() != "")
}

// isHTTP reports whether snug's load generator can send requests to a URL.
func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// parseMethod accepts a method of gRPC: a service, a slash and a name.
func parseMethod(text string) (string, bool) {
	text = strings.TrimPrefix(text, "/")
	service, name, ok := strings.Cut(text, "/")
	return text, ok && service != "" && name != "" && !strings.ContainsAny(text, " ?#%") && !strings.Contains(name, "/")
}

func parseCommand(text string) (string, bool) { return text, strings.TrimSpace(text) != "" }

func parseTime(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0 && d <= time.Hour
}

// parseRounds accepts a number of rounds from least on.
func parseRounds(least int) func(string) (int, bool) {
	return func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= least && n <= 1000
	}
}

// parseWindow accepts the length of a measurement: one period of a quota or more.
func parseWindow(text string) (time.Duration, bool) {
	d, ok := parseTime(text)
	return d, ok && d >= 100*time.Millisecond
}

// percentOf returns the share of capacity of a load such as "80%".
func percentOf(load string) (float64, bool) {
	number, ok := strings.CutSuffix(load, "%")
	if !ok {
		return 0, false
	}
	x, err := strconv.ParseFloat(number, 64)
	return x / 100, err == nil
}

// rateOf returns the rate of a load such as "800/s", 0 for any other.
func rateOf(load string) float64 {
	number, ok := strings.CutSuffix(load, "/s")
	if !ok {
		return 0
	}
	x, _ := strconv.ParseFloat(number, 64)
	return x
}

// choice is what the knobs depend on in a container of a given size.
type choice struct {
	limits    limits.Limits // of this process, before a group is made
	goVersion plan.Go       // the Go version of the program
	setsProcs bool          // the program's own code sets GOMAXPROCS
	env       plan.Env      // what the operator set
	known     bool          // whether goVersion is known, so that the default can be predicted
}

// fit returns the knobs that snug run sets in a container, and the GOMAXPROCS that the program
// has there without; 0 is unknown, as if its own code or automaxprocs may set it.
func (c *choice) fit(cpus float64, memory int64) (k finding.Knobs, procs int) {
	in := plan.Input{Limits: c.limits, Go: c.goVersion}
	in.Limits.CPU.Levels = slices.Clone(in.Limits.CPU.Levels)
	plan.Confine(&in.Limits, cpus, memory)
	p := plan.Decide(&in)
	for _, v := range goenv.Variables(&in, p, func() bool { return c.setsProcs }) {
		switch v.Name {
		case "GOMAXPROCS":
			k.GOMAXPROCS = v.Value
		case "GOMEMLIMIT":
			if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
				v.Value = units.GoBytes(n)
			}
			k.GOMEMLIMIT = v.Value
		case "GOGC":
			k.GOGC = v.Value
		}
	}
	if c.known && !c.setsProcs && !c.goVersion.Automaxprocs {
		procs = max(p.Runtime, 0)
	}
	return k, procs
}

// memory returns the memory limit that applies to a program: the one that snug sets or
// that of snug's own container, whichever is lower; 0 is none.
func (c *choice) memory(made int64) int64 {
	if own, ok := c.limits.Memory.Hard.Get(); ok && (made == 0 || own < made) {
		return own
	}
	return made
}

// arms returns the settings of an experiment. For each container and load they are Go's
// default, snug's value, the operator's own if there is one, and the values of the sweep.
// Equal settings become one arm with several labels.
func (s *sweep) arms(c *choice) ([]experiment.Arm, error) {
	var arms []experiment.Arm
	for _, w := range orOne(s.Workloads, "") {
		for _, cpus := range orOne(s.CPUs, 0) {
			for _, memory := range orOne(s.Memory, 0) {
				for _, l := range orOne(s.Loads, "") {
					at := finding.Arm{Workload: w, Quota: cpus, Memory: memory, Load: l}
					group, err := s.group(at, c)
					if err != nil {
						return nil, err
					}
					arms = append(arms, group...)
				}
			}
		}
	}
	return arms, nil
}

func (s *sweep) group(at finding.Arm, c *choice) ([]experiment.Arm, error) {
	var arms []experiment.Arm
	fit, byDefault := c.fit(at.Quota, at.Memory)
	add := func(label string, a finding.Arm) {
		if a.GOMAXPROCS != "" && a.GOMAXPROCS == strconv.Itoa(byDefault) {
			a.GOMAXPROCS = "" // the program's own: the same arm
		}
		i := slices.IndexFunc(arms, func(b experiment.Arm) bool { return b.Arm == a })
		if i < 0 {
			i = len(arms)
			arms = append(arms, experiment.Arm{Arm: a, Labels: []string{}, Rate: rateOf(a.Load)})
		}
		if label != "" && !slices.Contains(arms[i].Labels, label) {
			arms[i].Labels = append(arms[i].Labels, label)
		}
	}
	add(experiment.LabelDefault, at)
	if e := c.env; e.GOMAXPROCS+e.GOMEMLIMIT+e.GOGC != "" {
		own := at
		own.Knobs = finding.Knobs{GOMAXPROCS: c.env.GOMAXPROCS, GOGC: c.env.GOGC, GOMEMLIMIT: normalized(c.env.GOMEMLIMIT)}
		add(experiment.LabelCurrent, own)
	}
	snugs := at
	snugs.Knobs = fit
	add(experiment.LabelSnug, snugs)
	for _, set := range s.sets {
		one := at
		one.Knobs = set.knobs
		if set.memory != (plan.Memory{}) {
			limit, err := memoryLimit(set.memory, c.memory(at.Memory), "--set GOMEMLIMIT")
			if err != nil {
				return nil, err
			}
			one.GOMEMLIMIT = limit
		}
		add("", one)
	}
	for _, p := range orOne(s.procs, "") {
		for _, g := range orOne(s.gogc, "") {
			for _, m := range orOne(s.memlimit, plan.Memory{}) {
				a := at
				limit, err := memoryLimit(m, c.memory(at.Memory), "--gomemlimit")
				if err != nil {
					return nil, err
				}
				a.Knobs = finding.Knobs{GOMAXPROCS: p, GOGC: g, GOMEMLIMIT: limit}
				add("", a)
			}
		}
	}
	return arms, nil
}

// memoryLimit formats a GOMEMLIMIT as Go reads it; "" is unset. flag names its flag in
// errors.
func memoryLimit(m plan.Memory, limit int64, flag string) (string, error) {
	if m == (plan.Memory{}) {
		return "", nil
	}
	n := m.Bytes
	if m.Percent > 0 {
		n = int64(math.Ceil(float64(limit)*m.Percent/100)) - m.Less // 90 % is what snug leaves by default
	}
	switch {
	case m.Off:
		return "off", nil
	case n <= 0:
		if m.Percent > 0 && limit > 0 {
			return "", message.Usage(flag+": nothing is left of "+plan.Bytes(limit), "take off less, or give more --memory")
		}
		return "", message.Usage(flag+": a percentage without a limit", "set the limit: --memory SIZE")
	}
	return units.GoBytes(n), nil
}

// normalized formats an operator's GOMEMLIMIT as units.GoBytes does, so that equal values
// are one arm. It returns text that Go cannot read unchanged.
func normalized(text string) string {
	if n, ok := units.ParseGoBytes(text); ok && n > 0 {
		return units.GoBytes(n)
	}
	return text
}

func orOne[T any](list []T, one T) []T {
	if len(list) == 0 {
		return []T{one}
	}
	return list
}
