// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

const (
	// maxAsked bounds the agents that are asked at a time.
	maxAsked = 16
	// answerTimeout bounds the time of an answer, maxAnswer its bytes: a container takes about 4 KB.
	answerTimeout = 15 * time.Second
	maxAnswer     = 16 << 20
)

// Answer is what an agent said.
type Answer[T any] struct {
	Agent
	Said *T // nil: Why says why not
}

// Ask asks agents for their documents, and adds them to s.
func (k *Kubectl) Ask(ctx context.Context, agents []Agent, s *Sum) error {
	return ask(ctx, k, agents, "findings", readNode, s.Add)
}

// AskNeeds asks agents what they have seen of workloads, and adds it to s.
func (k *Kubectl) AskNeeds(ctx context.Context, agents []Agent, s *Sizes) error {
	return ask(ctx, k, agents, pageOfNeeds, needs.Decode, s.Add)
}

const pageOfNeeds = "needs"

// ask asks agents for a page, some at a time, and passes the answers on, one at a time in the order of their nodes,
// so that a sum does not depend on who answers first. It fails if the API server cannot be asked, or with the error
// of ctx.
func ask[T any](
	ctx context.Context, k *Kubectl, agents []Agent, page string, read func([]byte) (*T, error), pass func(Answer[T]),
) error {
	client, address, end, err := k.Proxy(ctx)
	if err != nil {
		return err
	}
	defer end()
	agents = slices.SortedFunc(slices.Values(agents), func(a, b Agent) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Namespace+"/"+a.Pod, b.Namespace+"/"+b.Pod))
	})
	var mu sync.Mutex
	var all sync.WaitGroup
	answers, next := make([]*Answer[T], len(agents)), 0
	turn := make(chan struct{}, maxAsked)
	for i, a := range agents {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			answer := &Answer[T]{Agent: a}
			if a.Why.Code == "" {
				text, err := get(ctx, client, address+a.path(page))
				if err == nil {
					answer.Said, err = read(text)
				}
				if err != nil {
					answer.Said, answer.Why = nil, whyOf(err, page)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for answers[i] = answer; next < len(agents) && answers[next] != nil; next++ {
				pass(*answers[next])
				answers[next] = nil
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

var errForeign = errors.New("no document of an agent")

// refused is an answer other than 200 OK.
type refused struct {
	status int
	text   string
	noPage bool // the agent has no such page
}

func (r *refused) Error() string { return r.text }

// whyOf returns why an agent did not answer with a page.
func whyOf(err error, page string) finding.Why {
	var r *refused
	is := errors.As(err, &r)
	switch {
	case errors.Is(err, errForeign), errors.Is(err, needs.ErrForeign), errors.Is(err, needs.ErrBroken):
		return finding.Why{Code: finding.SilentForeign}
	case errors.Is(err, needs.ErrVersion), is && r.noPage && page == pageOfNeeds:
		return finding.Why{Code: finding.SilentVersion}
	case is && r.status == http.StatusForbidden:
		return finding.Why{Code: finding.SilentForbidden, Detail: r.text}
	}
	return finding.Why{Code: finding.SilentError, Detail: err.Error()}
}

// readNode reads the document of an agent.
func readNode(text []byte) (*finding.Node, error) {
	var d finding.Node
	if err := json.Unmarshal(text, &d); err != nil || d.Kind != finding.KindAgent {
		return nil, errForeign
	}
	return &d, nil
}

// get returns the text of an answer.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, errors.New("not asked in time")
		}
		return nil, errors.New(message.Reason(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response)
	}
	text, err := bounded.ReadAll(response.Body, maxAnswer)
	if err != nil {
		return nil, errors.New(message.Reason(err))
	}
	return text, nil
}

// refusal returns the error of an answer: the message of the API server, or the agent's.
func refusal(r *http.Response) error {
	text, _ := bounded.ReadAll(r.Body, 4096)
	var said struct{ Message string }
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		said.Message, _, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	}
	noPage := r.StatusCode == http.StatusNotFound && strings.Contains(said.Message, "404 page not found")
	return &refused{r.StatusCode, r.Status + ": " + message.Clean(said.Message), noPage}
}

// Filter says which containers count. The zero Filter lets all pass.
type Filter struct {
	Namespace string          // "" = all
	Pods      map[string]bool // UIDs; nil = all
	Names     []string        // of workloads or pods, with or without kind and namespace, or of printed rows; none = all
	found     map[string]bool // those of Names that something had
}

func (f *Filter) passes(c *finding.Container) bool {
	switch {
	case f.Namespace != "" && (c.Namespace == nil || *c.Namespace != f.Namespace):
		return false
	case f.Pods != nil && (c.PodUID == nil || !f.Pods[*c.PodUID]):
		return false
	}
	passes := len(f.Names) == 0
	for _, name := range f.Names {
		if named(c, name) {
			if f.found == nil {
				f.found = map[string]bool{}
			}
			passes, f.found[name] = true, true
		}
	}
	return passes
}

// Missed returns the names that nothing had.
func (f *Filter) Missed() (all []string) {
	for _, name := range f.Names {
		if !f.found[name] {
			all = append(all, name)
		}
	}
	return all
}

// named reports whether a name is that of the container's workload or pod: "web", "Deployment/web",
// "shop/web", "shop/Deployment/web", or the pod's; or that of its row, "shop/Deployment/web/app".
func named(c *finding.Container, called string) bool {
	_, row := keyOf(c)
	names := []string{strings.TrimSuffix(name(row.Namespace, row.Name, row.Container), "/")}
	if c.Workload != nil {
		_, last, _ := strings.Cut(*c.Workload, "/")
		names = append(names, *c.Workload, last)
	}
	if c.Pod != nil {
		names = append(names, *c.Pod, "pod/"+*c.Pod)
	}
	for _, n := range names {
		if strings.EqualFold(n, called) || c.Namespace != nil && strings.EqualFold(*c.Namespace+"/"+n, called) {
			return true
		}
	}
	return false
}

// Sum collects answers.
type Sum struct {
	Filter Filter
	d      finding.Fleet
	at     map[[4]string]*finding.Workload
	beside map[[4]string]*finding.FleetUnsupported
	blind  int // nodes whose agents do not know the names of pods
}

// Add adds an answer.
func (s *Sum) Add(a Answer[finding.Node]) {
	if s.at == nil {
		s.at, s.beside = map[[4]string]*finding.Workload{}, map[[4]string]*finding.FleetUnsupported{}
	}
	s.d.Agents++
	if a.Said == nil {
		s.d.Silent = append(s.d.Silent, a.silent())
		return
	}
	node := a.Node
	if node == "" && a.Said.Node != nil {
		node = *a.Said.Node
	}
	nameless := false
	for i := range a.Said.Containers {
		c := &a.Said.Containers[i]
		if len(c.Processes) == 0 || !s.Filter.passes(c) {
			continue
		}
		nameless = nameless || c.PodUID != nil && c.Namespace == nil
		key, w := keyOf(c)
		if s.at[key] == nil {
			s.at[key] = w
		}
		s.at[key].Add(c, node)
		s.d.Containers++
		s.d.Processes += len(c.Processes)
	}
	for i := range a.Said.Unsupported {
		s.unsupported(&a.Said.Unsupported[i])
	}
	if nameless {
		s.blind++
	}
}

func (s *Sum) unsupported(u *finding.UnsupportedHere) {
	c := finding.Container{ContainerNames: u.ContainerNames, PodUID: u.PodUID}
	if !s.Filter.passes(&c) {
		return
	}
	key, w := keyOf(&c)
	if s.beside[key] == nil {
		s.beside[key] = &finding.FleetUnsupported{
			Namespace: w.Namespace, Workload: w.Name, Container: w.Container, Why: u.Why,
		}
	}
	b := s.beside[key]
	b.Processes++
	b.Why = min(b.Why, u.Why)
}

// keyOf returns what containers of one row have in common, and their empty row.
func keyOf(c *finding.Container) ([4]string, *finding.Workload) {
	w := &finding.Workload{Namespace: c.Namespace, Name: c.Workload, Container: c.Name}
	switch {
	case c.Unit != nil:
		w.Container = c.Unit
	case w.Name == nil && c.Pod != nil:
		w.Name = new("Pod/" + needs.Pattern(*c.Pod))
	case w.Name == nil:
		w.Container = c.PodUID
	}
	kind := ""
	if c.Unit != nil {
		kind = "unit"
	}
	return [4]string{kind, name(w.Namespace), name(w.Name), name(w.Container)}, w
}

// Document returns what was added, sorted by an order of Orders; equal workloads by their names.
func (s *Sum) Document(order string, at time.Time) *finding.Fleet {
	d := s.d
	d.Head, d.At = finding.NewHead(finding.KindFleet), at.UTC().Format(time.RFC3339)
	d.Workloads, d.Unknown = []finding.Workload{}, []finding.Gap{}
	for _, w := range s.at {
		d.Workloads = append(d.Workloads, *w)
	}
	slices.SortStableFunc(d.Workloads, func(a, b finding.Workload) int {
		x, y := name(a.Namespace, a.Name, a.Container), name(b.Namespace, b.Name, b.Container)
		return cmp.Or(Orders[order](&a, &b), strings.Compare(x, y))
	})
	d.Unsupported = []finding.FleetUnsupported{}
	for _, b := range s.beside {
		d.Unsupported = append(d.Unsupported, *b)
	}
	slices.SortStableFunc(d.Unsupported, func(a, b finding.FleetUnsupported) int {
		return strings.Compare(name(a.Namespace, a.Workload, a.Container), name(b.Namespace, b.Workload, b.Container))
	})
	d.Silent = byNode(d.Silent)
	if s.blind > 0 {
		why := fmt.Sprintf("names of pods on %d of %d nodes: their agents run without names", s.blind, d.Agents)
		d.Unknown = append(d.Unknown, finding.Gap{Field: "workloads", Why: why})
	}
	return &d
}

// silent returns an agent that did not answer.
func (a *Agent) silent() finding.SilentAgent {
	return finding.SilentAgent{Pod: a.Namespace + "/" + a.Pod, Node: a.Node, Why: a.Why}
}

// byNode sorts silent agents; none is an empty list.
func byNode(all []finding.SilentAgent) []finding.SilentAgent {
	if all == nil {
		return []finding.SilentAgent{}
	}
	slices.SortStableFunc(all, func(a, b finding.SilentAgent) int { return strings.Compare(a.Node+a.Pod, b.Node+b.Pod) })
	return all
}

// name joins the names of a workload, to sort by.
func name(parts ...*string) string {
	text := ""
	for _, s := range parts {
		if s != nil {
			text += *s + "/"
		}
	}
	return text
}

// Orders are the orders of workloads, the more interesting ones first.
var Orders = map[string]func(a, b *finding.Workload) int{
	"finding": func(a, b *finding.Workload) int {
		return cmp.Or(cmp.Compare(b.Worst().Level(), a.Worst().Level()), cmp.Compare(len(b.Findings), len(a.Findings)))
	},
	"name":      func(a, b *finding.Workload) int { return 0 },
	"cpu":       func(a, b *finding.Workload) int { return figure.Compare(b.Used, a.Used) },
	"throttled": func(a, b *finding.Workload) int { return figure.Compare(b.Throttled.Most, a.Throttled.Most) },
	"memory":    func(a, b *finding.Workload) int { return figure.Compare(b.Filled.Most, a.Filled.Most) },
	"gc":        func(a, b *finding.Workload) int { return figure.Compare(b.GC.Most, a.GC.Most) },
	"procs":     func(a, b *finding.Workload) int { return figure.Compare(b.GOMAXPROCS.Most, a.GOMAXPROCS.Most) },
}
