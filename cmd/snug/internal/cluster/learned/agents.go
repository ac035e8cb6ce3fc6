// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Agents are the addresses of a DNS name on which `snug agent` listens.
type Agents struct {
	Host, Port string
	// Lookup returns addresses; nil = net.DefaultResolver.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	within time.Duration // bounds a round; 0 = roundTimeout
}

const (
	// roundTimeout bounds the time to ask all agents, so that the caller can ask every minute
	// even if nothing gets through to them.
	roundTimeout = 45 * time.Second
	// maxConcurrent bounds the agents asked at a time, connectTimeout and answerTimeout the
	// time for each.
	maxConcurrent  = 32
	connectTimeout = 3 * time.Second
	answerTimeout  = 15 * time.Second
	// maxDocument bounds the bytes of an agent's document, maxAgents the agents.
	maxDocument = 8 << 20
	maxAgents   = 10000
)

// client is the HTTP client for agents: without a proxy, which is not used between pods, and
// without connections kept from minute to minute.
var client = &http.Client{
	Timeout: answerTimeout,
	Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: connectTimeout}).DialContext,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Asked is the result of asking all agents.
type Asked struct {
	Agents int
	Silent int // agents that did not answer in time
	Facts  []Fact
	// Surplus is the number of distinct facts left out beyond maxFacts. It is at most maxFacts.
	Surplus int
}

// Ask asks all agents, in less than a minute. It fails only if the lookup of the name fails;
// agents that do not answer are counted.
func (a *Agents) Ask(ctx context.Context) (Asked, error) {
	ctx, stop := context.WithTimeout(ctx, cmp.Or(a.within, roundTimeout))
	defer stop()
	lookup := a.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	found, err := lookup(ctx, "ip", a.Host)
	if err != nil {
		return Asked{}, err
	}
	found = found[:min(len(found), maxAgents)]
	asked := Asked{Agents: len(found)}
	all := newSightings() // of a DaemonSet, every agent reports the same
	var mu sync.Mutex
	var group sync.WaitGroup
	turn := make(chan struct{}, maxConcurrent)
	for _, ip := range found {
		turn <- struct{}{}
		group.Go(func() {
			defer func() { <-turn }()
			facts, err := ask(ctx, net.JoinHostPort(ip.Unmap().String(), a.Port))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				asked.Silent++
			}
			all.add(facts)
		})
	}
	group.Wait()
	asked.Facts, asked.Surplus = slices.Collect(maps.Values(all.all)), len(all.surplus)
	return asked, nil
}

func ask(ctx context.Context, address string) ([]Fact, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/findings", nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, response.Status)
	}
	return Read(response.Body)
}

// seen is the decoded part of a container in an agent's document, a finding.Node.
type seen struct {
	Namespace, Workload, Container, Image string // "" for null
	Digest                                string `json:"image_digest"`
	Processes                             first
}

// first is the Go process of a container that started first; nil = none.
type first struct{ process *process }

type process struct {
	Go      string `json:"go_version"` // "" for null
	Aware   *bool  `json:"container_aware"`
	Started string `json:"started"` // a time, "" = unknown
}

// minAge is how long a process must run to count as the container's program and not a probe.
const minAge = time.Minute

// hasSettled reports whether the process had run for minAge at the time at, or true if unknown.
func (p *process) hasSettled(at string) bool {
	seen, err := time.Parse(time.RFC3339, at)
	started, bad := time.Parse(time.RFC3339, p.Started)
	return err != nil || bad != nil || seen.Sub(started) >= minAge
}

// UnmarshalJSON skips all other processes: a hostile document may have millions.
func (f *first) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if token, err := dec.Token(); token != json.Delim('[') || !dec.More() {
		return err
	}
	return dec.Decode(&f.process)
}

var errNoDocument = errors.New("not a document of snug agent")

// Read decodes an agent's document, a container at a time. A container's program is the Go
// process that started first, if it has run for minAge. Read leaves out containers that lack
// a name, and all after maxFacts.
func Read(r io.Reader) ([]Fact, error) {
	dec := json.NewDecoder(io.LimitReader(r, maxDocument))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, errNoDocument
	}
	var facts []Fact
	head := map[string]string{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, errNoDocument
		}
		switch key {
		case "snug", "kind", "at": // these come first
			var text string
			err = dec.Decode(&text)
			head[key.(string)] = text
		case "containers":
			facts, err = each(dec, facts, func(c *seen) (Fact, bool) { return c.fact(head["at"]) })
		case "other_containers": // containers without a Go process
			facts, err = each(dec, facts, func(*seen) (Fact, bool) { return Fact{}, true })
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return nil, errNoDocument
		}
	}
	if _, err := dec.Token(); err != nil || head["snug"] != "v1" || head["kind"] != "agent" {
		return nil, errNoDocument
	}
	return facts, nil
}

// each appends the facts of a list of containers.
func each(dec *json.Decoder, facts []Fact, program func(*seen) (Fact, bool)) ([]Fact, error) {
	token, err := dec.Token()
	if err != nil || token == nil {
		return facts, err // null
	}
	if token != json.Delim('[') {
		return nil, errNoDocument
	}
	var c seen // reused: a hostile list may have millions
	for dec.More() {
		c = seen{}
		if err := dec.Decode(&c); err != nil {
			return nil, err
		}
		f, ok := program(&c)
		f.Namespace, f.Workload, f.Container = c.Namespace, c.Workload, c.Container
		f.Image, f.Digest = c.Image, c.Digest
		if ok && f.valid() && len(facts) < maxFacts {
			facts = append(facts, f)
		}
	}
	_, err = dec.Token()
	return facts, err
}

// fact returns the fact of a container's program, without its names. at is the time of the scan.
func (c *seen) fact(at string) (Fact, bool) {
	p := c.Processes.process
	if p == nil || !p.hasSettled(at) {
		return Fact{}, false
	}
	m := version.FindStringSubmatch(p.Go)
	if m == nil {
		return Fact{}, false
	}
	f := Fact{Go: m[1]}
	minor, _ := minorOf(f.Go)
	f.Blind = minor < 25
	if p.Aware != nil {
		f.Blind = !*p.Aware
	}
	return f, true
}

// version matches the version of a Go release; other versions say nothing reliable.
var version = regexp.MustCompile(`^go(1\.[0-9]{1,3})([.rb][-.0-9a-z]*)?( .*)?$`)

// ParseAgents parses HOST:PORT.
func ParseAgents(text string) (*Agents, bool) {
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || bad != nil || n == 0 {
		return nil, false
	}
	return &Agents{Host: host, Port: port}, true
}

// Store keeps the text of the facts for all replicas.
type Store interface {
	// Load returns the text and its version; nil = none.
	Load(context.Context) (text []byte, version string, err error)
	// Save replaces the version that was loaded by a text; "" = there was none. It returns
	// ErrConflict if the stored version is another.
	Save(ctx context.Context, text []byte, version string) error
}

// ErrConflict means that the stored text has changed since it was loaded.
var ErrConflict = errors.New("changed since it was loaded")

// Every is the interval at which to call Keep.
const Every = time.Minute

// Keeper keeps facts up to date. Its methods without a context are safe for concurrent use.
type Keeper struct {
	Agents *Agents // nil = other replicas ask, and share
	Store  Store
	Note   func(string) // receives notes for the log

	facts  atomic.Pointer[Facts]
	agents atomic.Pointer[Asked] // of the last round, without facts
	// dropped is the number of facts that did not fit into the text or into maxFacts.
	dropped atomic.Int64
	full    bool // it was noted that facts are dropped
}

// Facts returns the current facts; nil at first.
func (k *Keeper) Facts() *Facts { return k.facts.Load() }

// Asked returns how many agents were asked in the last round, and how many did not answer.
func (k *Keeper) Asked() (agents, silent int) {
	if a := k.agents.Load(); a != nil {
		return a.Agents, a.Silent
	}
	return 0, 0
}

// Dropped returns how many facts were left out when they were last shared. This replica may
// still have them.
func (k *Keeper) Dropped() int { return int(k.dropped.Load()) }

// Keep asks the agents, and shares the facts with other replicas. At first it loads what these have learned.
func (k *Keeper) Keep(ctx context.Context, now time.Time) error {
	if k.Facts() == nil {
		_ = k.share(ctx, nil, now) // it is tried again below
	}
	var seen []Fact
	var surplus int
	var failed error
	if k.Agents != nil {
		asked, err := k.Agents.Ask(ctx)
		if failed = err; err == nil {
			seen, surplus, asked.Facts = asked.Facts, asked.Surplus, nil
			k.agents.Store(&asked)
		}
	}
	err := k.share(ctx, seen, now)
	if full := k.dropped.Add(int64(surplus)) > 0; full != k.full {
		if k.full = full; full {
			k.Note("more facts than fit: those last seen longest ago are dropped (snug_webhook_facts_dropped)")
		}
	}
	return errors.Join(failed, err)
}

// share merges what was seen with the shared facts. If it fails, this replica still keeps the
// new facts.
func (k *Keeper) share(ctx context.Context, seen []Fact, now time.Time) error {
	for attempt := 0; ; attempt++ {
		text, version, err := k.Store.Load(ctx)
		if err != nil {
			facts := k.facts.Load().With(seen, now)
			k.facts.Store(facts)
			k.dropped.Store(int64(facts.surplus))
			return err
		}
		theirs, unreadable := Decode(text)
		facts := Merged(theirs, k.facts.Load(), now).With(seen, now)
		k.facts.Store(facts)
		more, dropped := facts.Encode()
		k.dropped.Store(int64(facts.surplus + dropped))
		// An unreadable text is not overwritten with nothing.
		if !bytes.Equal(more, text) && (facts.Len() > 0 || len(text) > 0 && unreadable == nil) {
			err = k.Store.Save(ctx, more, version)
		}
		if !errors.Is(err, ErrConflict) || attempt == 3 {
			return err
		}
	}
}
