// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
)

// input holds the objects that affect others, and the findings so far.
type input struct {
	vpas     map[string]*manifest.VPA    // by namespace, kind and name of the target
	hpas     map[string]*manifest.Object // likewise
	ranges   map[string][]manifest.Range // by namespace
	configs  map[string]*manifest.Object // ConfigMaps by namespace and name
	envFiles map[string]*manifest.Object // by path
	found    []Found
	most     int // findings that are kept; 0 = all
	ignored  int
	left     int // findings that were not kept
	silence  silence
}

func gather(files []*manifest.File) *input {
	in := &input{
		vpas: map[string]*manifest.VPA{}, hpas: map[string]*manifest.Object{}, ranges: map[string][]manifest.Range{},
		configs: map[string]*manifest.Object{}, envFiles: map[string]*manifest.Object{},
	}
	for _, f := range files {
		for _, o := range f.Objects {
			switch {
			case o.Form == manifest.EnvFile:
				in.envFiles[o.Name] = o
			case o.VPA != nil:
				in.vpas[o.Namespace+"/"+o.VPA.Kind+"/"+o.VPA.Name] = o.VPA
			case o.HPA != nil:
				in.hpas[o.Namespace+"/"+o.HPA.Kind+"/"+o.HPA.Name] = o
			case o.Ranges != nil:
				in.ranges[o.Namespace] = append(in.ranges[o.Namespace], o.Ranges...)
			case o.Data != nil && o.Kind != "Secret":
				in.configs[o.Namespace+"/"+o.Name] = o
			}
		}
	}
	return in
}

// knobNames are the variables that the Go runtime or automemlimit reads.
var knobNames = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "AUTOMEMLIMIT"}

// knob is a variable as a container sees it.
type knob struct {
	name  string
	env   *manifest.Env    // the entry with its value
	in    *manifest.Object // has env: the container's object, a ConfigMap or a file of variables
	from  string           // the name of that ConfigMap or file; "" = the container's own env
	text  string           // its value, if known
	known bool
	// via is the reference to a resource in a literal $(NAME) with unit after it; nil = none.
	via  *knob
	unit string
	// For a reference to a resource: its container and amount.
	of      *manifest.Container
	amount  amount
	earlier []*manifest.Env // earlier entries of the same name
	hides   string          // the ConfigMap of an envFrom that has it too; "" = none
	entry   *manifest.Env   // the container's entry with a key of a ConfigMap; nil = none
}

// reference returns the reference to a resource from which a variable is set: itself or
// another variable; nil = it is not set from one.
func (k *knob) reference() *knob {
	switch {
	case k == nil:
		return nil
	case k.env.From == manifest.Resource:
		return k
	}
	return k.via
}

// refers reports whether a variable is a reference to a resource, such as "limits.cpu".
func (k *knob) refers(to string) bool {
	return k != nil && k.env.From == manifest.Resource && k.env.Resource.Text == to
}

// literal reports whether the container's own env has the value.
func (k *knob) literal() bool { return k != nil && k.env.From == manifest.Literal && k.from == "" }

func newSubject(in *input, o *manifest.Object, p *manifest.Pod, c *manifest.Container) *subject {
	s := &subject{in: in, o: o, p: p, c: c, knobs: map[string]*knob{}}
	// env wins over envFrom; in systemd, files win over Environment=.
	if o.Form != manifest.Unit {
		s.takeFrom(c.EnvFrom)
	} else {
		defer s.takeFrom(c.EnvFrom)
	}
	earlier := map[string]*knob{} // variables before this one
	for i := range c.Env {
		e := &c.Env[i]
		k := &knob{name: e.Name, env: e, in: o}
		s.value(k, earlier)
		earlier[e.Name] = k
		if !slices.Contains(knobNames, e.Name) {
			continue
		}
		if old := s.knobs[e.Name]; old != nil {
			if old.from == "" {
				k.earlier = append(old.earlier, old.env)
			} else {
				k.earlier = old.earlier
			}
			k.shadows(old)
		}
		s.knobs[e.Name] = k
	}
	return s
}

// takeFrom adds the variables of ConfigMaps and files.
func (s *subject) takeFrom(all []manifest.EnvFrom) {
	for _, from := range all {
		config := s.source(from)
		if config == nil {
			s.doubt(from.Prefix)
		}
		if config == nil || from.Prefix != "" {
			continue
		}
		for i := range config.Data {
			e := &config.Data[i]
			if !slices.Contains(knobNames, e.Name) {
				continue
			}
			known := e.From == manifest.Literal && plain(e.Value.Text)
			s.knobs[e.Name] = &knob{name: e.Name, env: e, in: config, from: config.Name, text: e.Value.Text, known: known}
		}
	}
}

// doubt makes values from ConfigMaps and files unknown that a later, unknown one may
// override. The keys of that one get a prefix.
func (s *subject) doubt(prefix string) {
	for name, k := range s.knobs {
		if k.from != "" && strings.HasPrefix(name, prefix) {
			k.known, k.text = false, ""
		}
	}
}

// source returns the ConfigMap or file of an envFrom; nil = unknown.
func (s *subject) source(from manifest.EnvFrom) *manifest.Object {
	switch {
	case from.File != "":
		return s.in.envFiles[from.File]
	case from.ConfigMap != "":
		return s.in.configs[s.o.Namespace+"/"+from.ConfigMap]
	}
	return nil
}

// figure matches values that may be expanded into another value, and so be shown. Any other
// may be a secret.
var figure = regexp.MustCompile(`^[0-9]{1,20}[A-Za-z%]{0,4}$`)

// made matches another variable with a unit after it.
var made = regexp.MustCompile(`^\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)([A-Za-z]*)$`)

// shadows records that a variable hides one of a ConfigMap.
func (k *knob) shadows(old *knob) {
	if k.from == "" && old.from != "" {
		k.hides = old.from
	} else {
		k.hides = old.hides
	}
}

// opaque reports whether an unknown envFrom may set variables.
func (s *subject) opaque() bool {
	return slices.ContainsFunc(s.c.EnvFrom, func(f manifest.EnvFrom) bool { return s.source(f) == nil })
}

// value resolves a variable; earlier are the variables before it.
func (s *subject) value(k *knob, earlier map[string]*knob) {
	e := k.env
	switch e.From {
	case manifest.Literal:
		k.text, k.known = s.expand(e.Value.Text, earlier)
		k.known = k.known && plain(k.text)
		if m := made.FindStringSubmatch(e.Value.Text); m != nil {
			if of := earlier[m[1]]; of != nil && of.reference() != nil {
				k.via, k.unit = of.reference(), of.unit+m[2]
			}
		}
	case manifest.ConfigKey:
		if config := s.in.configs[s.o.Namespace+"/"+e.Ref]; config != nil {
			for i := range config.Data {
				if d := &config.Data[i]; d.Name == e.Key {
					k.entry, k.env, k.in, k.from, k.text, k.known = e, d, config, config.Name, d.Value.Text, plain(d.Value.Text)
				}
			}
		}
	case manifest.Resource:
		k.of = s.c
		if name := e.Container.Text; name != "" && name != s.c.Name {
			k.of = nil
			for _, other := range s.p.Containers {
				if other.Name == name {
					k.of = other
				}
			}
		}
		if k.of == nil {
			return
		}
		kind, resource, _ := strings.Cut(e.Resource.Text, ".")
		if kind != "limits" && kind != "requests" {
			return
		}
		k.amount = s.in.amount(s.o, s.p, k.of, kind, resource)
		if divisor, ok := divisor(e); ok && k.amount.state == limits.Known {
			k.text, k.known = formatted(k.amount.q.Divided(divisor, resource == "cpu")), true
		}
	}
}

// divisor returns the divisor of a reference; 1 if it has none.
func divisor(e *manifest.Env) (quantity.Quantity, bool) {
	if !e.Divisor.Set() {
		return quantity.Parse("1")
	}
	return quantity.Parse(e.Divisor.Text)
}

// plain reports whether a text is a value, not a placeholder for helm, envsubst, kyverno or a
// person.
func plain(text string) bool {
	return !strings.ContainsAny(text, "{}<>*?#") && !strings.Contains(strings.ReplaceAll(text, "$(", ""), "$")
}

// expand expands $(NAME) like the kubelet: from earlier variables, and an unset one stays as
// it is. known is false if a value is unknown. Source: k8s.io/kubernetes/third_party/forked/golang/expansion.
func (s *subject) expand(text string, earlier map[string]*knob) (expanded string, known bool) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 >= len(text) {
			b.WriteString(text)
			return b.String(), true
		}
		b.WriteString(text[:i])
		text = text[i:]
		if text[1] == '$' {
			b.WriteByte('$')
			text = text[2:]
			continue
		}
		name, rest, ok := strings.Cut(text[1:], ")")
		if text[1] != '(' || !ok {
			b.WriteByte('$')
			text = text[1:]
			continue
		}
		name = name[1:]
		value, is := earlier[name]
		switch {
		case is && !(value.known && figure.MatchString(value.text)):
			return "", false
		case is:
			b.WriteString(value.text)
		case len(s.c.EnvFrom) > 0 || s.c.Partial():
			return "", false // a key of a ConfigMap may set it
		default:
			b.WriteString("$(" + name + ")")
		}
		text = rest
	}
}

// amount is the effective limit or request of a container.
type amount struct {
	q     quantity.Quantity
	state limits.State
	at    manifest.Pos // where it is written; zero for a LimitRange
	from  string       // "the pod", "a LimitRange", "its limit"; "" = the container's own
	key   string       // its key in a compose file or a unit; "" = in Kubernetes
}

// amount returns the effective amount of a container: its own, a LimitRange's or the pod's.
// kind is "limits" or "requests".
func (in *input) amount(o *manifest.Object, p *manifest.Pod, c *manifest.Container, kind, resource string) amount {
	if o.Form != manifest.Kubernetes {
		if kind == "requests" {
			return amount{}
		}
		return serviceLimit(o, c, resource)
	}
	given := func(limits, requests map[string]manifest.Field) manifest.Field {
		if kind == "requests" {
			return requests[resource]
		}
		return limits[resource]
	}
	if f := given(c.Resources.Limits, c.Resources.Requests); f.Set() {
		return measured(o, f, "")
	}
	// A container with a limit and no request requests its limit; this precedes a LimitRange.
	if f := c.Resources.Limits[resource]; kind == "requests" && f.Set() {
		return measured(o, f, "its limit")
	}
	for _, r := range in.ranges[o.Namespace] {
		if f := given(r.Limits, r.Requests); f.Set() {
			a := measured(o, f, "a LimitRange")
			a.at = manifest.Pos{}
			return a
		}
	}
	var f manifest.Field
	if r := p.Resources; r != nil {
		f = given(r.Limits, r.Requests)
	}
	switch {
	case f.Set() && kind == "limits":
		return measured(o, f, "the pod")
	case f.Set(), c.Partial():
		return amount{}
	}
	return amount{state: limits.None}
}

// measured parses an amount; 0 means none.
func measured(o *manifest.Object, f manifest.Field, from string) amount {
	q, ok := quantity.Parse(f.Text)
	a := amount{q: q, at: o.FieldAt(f), from: from}
	switch {
	case !ok:
	case q.Sign() <= 0:
		a.state = limits.None
	default:
		a.state = limits.Known
	}
	return a
}

// bounds is a key of a compose file or a unit that sets a limit.
type bounds struct {
	key, resource string
	read          func(string) (quantity.Quantity, bool)
}

var boundsOf = map[manifest.Form][]bounds{
	manifest.Compose: {
		{"mem_limit", "memory", quantity.Docker},
		{"deploy.resources.limits.memory", "memory", quantity.Docker},
		{"cpus", "cpu", quantity.Cores},
		{"deploy.resources.limits.cpus", "cpu", quantity.Cores},
		{"cpu_quota", "cpu", nil}, // with cpu_period
	},
	manifest.Unit: {
		{"MemoryMax", "memory", quantity.Systemd},
		{"MemoryHigh", "memory", quantity.Systemd},
		{"MemoryLimit", "memory", quantity.Systemd},
		{"CPUQuota", "cpu", quantity.Percent},
	},
}

// serviceLimit returns the lowest known limit of a service.
func serviceLimit(o *manifest.Object, c *manifest.Container, resource string) amount {
	tightest := amount{state: limits.None}
	if c.Partial() {
		tightest.state = limits.Unknown
	}
	for _, b := range boundsOf[o.Form] {
		f := c.Resources.Limits[b.key]
		if !f.Set() || b.resource != resource || b.key == "MemoryLimit" && c.Resources.Limits["MemoryMax"].Set() {
			continue
		}
		read := b.read
		if read == nil {
			read = func(quota string) (quantity.Quantity, bool) {
				return quantity.Quota(quota, c.Resources.Limits["cpu_period"].Text)
			}
		}
		q, ok := read(f.Text)
		switch {
		case !ok && tightest.state == limits.None:
			tightest.state = limits.Unknown
		case ok && q.Sign() > 0 && (tightest.state != limits.Known || q.Milli() < tightest.q.Milli()):
			tightest = amount{q: q, state: limits.Known, at: o.FieldAt(f), key: b.key}
		}
	}
	return tightest
}

// cpuLists lists the keys that name CPUs.
var cpuLists = []string{"cpuset", "AllowedCPUs", "CPUAffinity"}

// aboveAffinity finds a GOMAXPROCS above the number of CPUs that a service may run on.
func aboveAffinity(s *subject) {
	k := s.knobs["GOMAXPROCS"]
	n, ok := s.procs()
	if !ok {
		return
	}
	// aboveLimit reports a lower quota.
	quota := int64(quantity.MaxCPUs)
	if limit, ok := s.cpuLimit(); ok {
		quota = runtimeProcs(limit.q.Milli())
	}
	for _, key := range cpuLists {
		f := s.c.Resources.Limits[key]
		cpus, ok := quantity.CPUs(f.Text)
		if !ok || n <= int64(cpus) || quota <= int64(cpus) {
			continue
		}
		g := s.report("procs-above-affinity", finding.SeverityInfo, s.at(k),
			"GOMAXPROCS is "+k.text+" and "+key+" has "+units.Plural(cpus, "CPU")+": the other Ps wait for a CPU",
			"GOMAXPROCS="+strconv.Itoa(cpus)+", or none: Go uses the CPUs that it may run on")
		g.Evidence = []finding.Evidence{
			k.procs(s, n),
			{What: "CPUs it may run on", Value: float64(cpus), Unit: finding.UnitCount, Source: key, Raw: f.Text},
		}
		return
	}
}
