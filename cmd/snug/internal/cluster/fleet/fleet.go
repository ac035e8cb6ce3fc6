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
type Answer struct {
	Agent
	Node *finding.Node // nil: Why says why not
}

// Ask asks agents for their documents, by a client and an address of [Kubectl.Proxy], and passes each
// answer on, one at a time.
func Ask(ctx context.Context, client *http.Client, address string, agents []Agent, pass func(Answer)) {
	var mu sync.Mutex
	each(agents, func(_ int, a Agent) {
		answer := Answer{Agent: a}
		if a.Why.Code == "" {
			var err error
			if answer.Node, err = ask(ctx, client, address+a.path("findings")); err != nil {
				answer.Why = whyOf(err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		pass(answer)
	})
}

// each calls visit for all agents and their places in the list, some at a time, the first ones first.
func each(agents []Agent, visit func(int, Agent)) {
	var all sync.WaitGroup
	turn := make(chan struct{}, maxAsked)
	for i, a := range agents {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			visit(i, a)
		})
	}
	all.Wait()
}

var errForeign = errors.New("no document of an agent")

// refused is an answer other than 200 OK.
type refused struct {
	status int
	text   string
	noPage bool // the agent has no such page
}

func (r *refused) Error() string { return r.text }

// whyOf returns why an agent did not answer.
func whyOf(err error) finding.Why {
	var r *refused
	switch {
	case errors.Is(err, errForeign):
		return finding.Why{Code: finding.SilentForeign}
	case errors.As(err, &r) && r.status == http.StatusForbidden:
		return finding.Why{Code: finding.SilentForbidden, Detail: r.text}
	}
	return finding.Why{Code: finding.SilentError, Detail: err.Error()}
}

func ask(ctx context.Context, client *http.Client, url string) (*finding.Node, error) {
	text, err := get(ctx, client, url)
	if err != nil {
		return nil, err
	}
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
	return &refused{r.StatusCode, r.Status + ": " + message.Clean(said.Message), r.StatusCode == http.StatusNotFound && strings.Contains(said.Message, "404 page not found")}
}

// Filter says which containers count. The zero Filter lets all pass.
type Filter struct {
	Namespace string          // "" = all
	Pods      map[string]bool // UIDs; nil = all
	Names     []string        // of workloads or pods, with or without kind and namespace, or of rows, as printed; none = all
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
func (s *Sum) Add(a Answer) {
	if s.at == nil {
		s.at, s.beside = map[[4]string]*finding.Workload{}, map[[4]string]*finding.FleetUnsupported{}
	}
	s.d.Agents++
	if a.Node == nil {
		s.d.Silent = append(s.d.Silent, finding.SilentAgent{Pod: a.Namespace + "/" + a.Pod, Node: a.Agent.Node, Why: a.Why})
		return
	}
	node := a.Agent.Node
	if node == "" && a.Node.Node != nil {
		node = *a.Node.Node
	}
	nameless := false
	for i := range a.Node.Containers {
		c := &a.Node.Containers[i]
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
	for i := range a.Node.Unsupported {
		s.unsupported(&a.Node.Unsupported[i])
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
		s.beside[key] = &finding.FleetUnsupported{Namespace: w.Namespace, Workload: w.Name, Container: w.Container, Why: u.Why}
	}
	b := s.beside[key]
	b.Processes++
	b.Why = min(b.Why, u.Why) // whichever agent answers first
}

// keyOf returns what containers of one row have in common, and their empty row.
func keyOf(c *finding.Container) ([4]string, *finding.Workload) {
	word := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
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
	return [4]string{kind, word(w.Namespace), word(w.Name), word(w.Container)}, w
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
		return cmp.Or(Orders[order](&a, &b), strings.Compare(name(a.Namespace, a.Name, a.Container), name(b.Namespace, b.Name, b.Container)))
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
		d.Unknown = append(d.Unknown, finding.Gap{Field: "workloads", Why: fmt.Sprintf("names of pods on %d of %d nodes: their agents run without names", s.blind, d.Agents)})
	}
	return &d
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
