// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/kube/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/kube/quantity"
	"github.com/snug-go/snug/limits"
)

// input is everything that is looked at, with what one object says of others.
type input struct {
	programs map[string]Program
	vpas     map[string]*manifest.VPA    // by namespace, kind and name of the target
	ranges   map[string][]manifest.Range // by namespace
	configs  map[string]*manifest.Object // ConfigMaps by namespace and name
	found    []Found
}

func gather(files []*manifest.File) *input {
	in := &input{vpas: map[string]*manifest.VPA{}, ranges: map[string][]manifest.Range{}, configs: map[string]*manifest.Object{}}
	for _, f := range files {
		for _, o := range f.Objects {
			switch {
			case o.VPA != nil:
				in.vpas[o.Namespace+"/"+o.VPA.Kind+"/"+o.VPA.Name] = o.VPA
			case o.Ranges != nil:
				in.ranges[o.Namespace] = append(in.ranges[o.Namespace], o.Ranges...)
			case o.Data != nil:
				in.configs[o.Namespace+"/"+o.Name] = o
			}
		}
	}
	return in
}

// knobNames are the variables that the runtime of Go reads, and that of
// automemlimit.
var knobNames = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "AUTOMEMLIMIT"}

// knob is a variable as a container sees it.
type knob struct {
	name  string
	env   *manifest.Env    // that sets it
	in    *manifest.Object // in which env is written: the container's, or a ConfigMap
	from  string           // the name of that ConfigMap; "" = the container says it itself
	text  string           // its value, where known
	known bool
	// Of a reference to a resource.
	of      *manifest.Container // whose
	amount  amount
	earlier []*manifest.Env // entries of the same name before it
	hides   string          // the ConfigMap of an envFrom that says it as well; "" = none
}

// refers tells whether a variable is a reference to a resource, such as
// "limits.cpu".
func (k *knob) refers(to string) bool {
	return k != nil && k.env.From == manifest.Resource && k.env.Resource.Text == to
}

// literal tells whether the container itself says the value.
func (k *knob) literal() bool { return k != nil && k.env.From == manifest.Literal && k.from == "" }

func newSubject(in *input, o *manifest.Object, p *manifest.Pod, c *manifest.Container) *subject {
	s := &subject{in: in, o: o, p: p, c: c, knobs: map[string]*knob{}, program: in.program(c.Image)}
	// envFrom comes first, env wins over it.
	for _, from := range c.EnvFrom {
		config := in.configs[o.Namespace+"/"+from.ConfigMap]
		if config == nil || from.ConfigMap == "" {
			continue
		}
		for i := range config.Data {
			if e := &config.Data[i]; from.Prefix == "" {
				s.knobs[e.Name] = &knob{name: e.Name, env: e, in: config, from: config.Name, text: e.Value.Text, known: plain(e.Value.Text)}
			}
		}
	}
	said := map[string]*string{} // variables before this one; nil = not known what
	for i := range c.Env {
		e := &c.Env[i]
		k := &knob{name: e.Name, env: e, in: o}
		s.value(k, said)
		said[e.Name] = nil
		if k.known && figure.MatchString(k.text) {
			said[e.Name] = &k.text
		}
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

// figure is a value that may be filled into another one, and so be shown: any
// other may be a secret.
var figure = regexp.MustCompile(`^[0-9]{1,20}[A-Za-z%]{0,4}$`)

// shadows notes that a variable hides that of a ConfigMap.
func (k *knob) shadows(old *knob) {
	if k.from == "" && old.from != "" {
		k.hides = old.from
	} else {
		k.hides = old.hides
	}
}

// opaque tells whether a variable may be set by an envFrom that is not known.
func (s *subject) opaque() bool {
	return slices.ContainsFunc(s.c.EnvFrom, func(f manifest.EnvFrom) bool {
		// Of a ConfigMap without such a key in.configs knows nothing either.
		return f.ConfigMap == "" || s.in.configs[s.o.Namespace+"/"+f.ConfigMap] == nil
	})
}

// value finds out what a variable is.
func (s *subject) value(k *knob, said map[string]*string) {
	e := k.env
	switch e.From {
	case manifest.Literal:
		k.text, k.known = s.expand(e.Value.Text, said)
		k.known = k.known && plain(k.text)
	case manifest.ConfigKey:
		if config := s.in.configs[s.o.Namespace+"/"+e.Ref]; config != nil {
			for i := range config.Data {
				if d := &config.Data[i]; d.Name == e.Key {
					k.env, k.in, k.from, k.text, k.known = d, config, config.Name, d.Value.Text, plain(d.Value.Text)
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
		k.amount = s.in.amount(s.o, s.p, k.of, kind, resource)
		if divisor, ok := divisor(e); ok && k.amount.state == limits.Known {
			k.text, k.known = formatted(k.amount.q.Divided(divisor, resource == "cpu")), true
		}
	}
}

// divisor is that of a reference; 1 where it has none.
func divisor(e *manifest.Env) (quantity.Quantity, bool) {
	if !e.Divisor.Set() {
		return quantity.Parse("1")
	}
	return quantity.Parse(e.Divisor.Text)
}

// plain tells whether a text is a value, and not a place where one is filled in
// later: by helm, envsubst, kyverno or a person.
func plain(text string) bool {
	return !strings.ContainsAny(text, "{}<>*?#") && !strings.Contains(strings.ReplaceAll(text, "$(", ""), "$")
}

// expand fills in $(NAME) as the kubelet does: from variables before this one; one
// that there is not stays as it is written. known is false where a value is not
// known. Source: k8s.io/kubernetes/third_party/forked/golang/expansion.
func (s *subject) expand(text string, said map[string]*string) (expanded string, known bool) {
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
		value, is := said[name]
		switch {
		case is && value == nil:
			return "", false
		case is:
			b.WriteString(*value)
		case s.opaque() || s.c.Partial():
			return "", false
		default:
			b.WriteString("$(" + name + ")")
		}
		text = rest
	}
}

// amount is a limit or a request that holds for a container.
type amount struct {
	q     quantity.Quantity
	state limits.State
	at    manifest.Pos // where it is written; nowhere when Known by a LimitRange of another file
	from  string       // "the pod", "a LimitRange", "its limit"; "" = the container's own
}

// amount is what holds for a container: its own, that of a LimitRange, that of
// the pod. kind is "limits" or "requests".
func (in *input) amount(o *manifest.Object, p *manifest.Pod, c *manifest.Container, kind, resource string) amount {
	own, pod := c.Resources.Limits, map[string]manifest.Field(nil)
	if kind == "requests" {
		own = c.Resources.Requests
	}
	if p.Resources != nil {
		if pod = p.Resources.Limits; kind == "requests" {
			pod = p.Resources.Requests
		}
	}
	if f := own[resource]; f.Set() {
		return measured(o, f, "")
	}
	// What has a limit of its own and no request requests its limit, before a
	// LimitRange is asked.
	if f := c.Resources.Limits[resource]; kind == "requests" && f.Set() {
		return measured(o, f, "its limit")
	}
	for _, r := range in.ranges[o.Namespace] {
		f := r.Limits[resource]
		if given := r.Requests[resource]; kind == "requests" && given.Set() {
			f = given
		}
		if f.Set() {
			a := measured(o, f, "a LimitRange")
			a.at = manifest.Pos{}
			return a
		}
	}
	if f := pod[resource]; f.Set() {
		if kind == "requests" {
			return amount{}
		}
		return measured(o, f, "the pod")
	}
	if c.Partial() {
		return amount{}
	}
	return amount{state: limits.None}
}

// measured reads an amount; 0 is none.
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

// program is what is known of the program in an image.
func (in *input) program(image string) Program {
	if p, ok := in.programs[image]; ok {
		return p
	}
	// By the name without its digest, without its tag, and by its last part.
	name, _, _ := strings.Cut(image, "@")
	if p, ok := in.programs[name]; ok && name != "" {
		return p
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	if p, ok := in.programs[name]; ok && name != "" {
		return p
	}
	if p, ok := in.programs[name[strings.LastIndexByte(name, '/')+1:]]; ok && name != "" {
		return p
	}
	return in.programs["*"]
}
