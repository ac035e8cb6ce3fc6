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
	"time"
)

// Agents are where `snug agent` answers: the addresses of a name.
type Agents struct {
	Host, Port string
	// Lookup finds addresses; nil = net.DefaultResolver.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	within time.Duration // for all of them; 0 = roundWithin
}

const (
	// roundWithin is how long it may take to ask all agents, so that who asks comes round
	// each minute even where nothing is let through to them.
	roundWithin = 45 * time.Second
	// atOnce agents are asked at the same time: each is there connectsWithin, and has
	// answered answersWithin.
	atOnce         = 32
	connectsWithin = 3 * time.Second
	answersWithin  = 15 * time.Second
	// mostAnswer bytes are read of an agent's document; mostAgents are asked.
	mostAnswer = 8 << 20
	mostAgents = 10000
)

// agents' own client: no proxy stands between pods, and connections are not kept from
// minute to minute.
var client = &http.Client{
	Timeout: answersWithin,
	Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: connectsWithin}).DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Asked is what became of asking all agents.
type Asked struct {
	Agents int
	Silent int // of these, those that did not answer, or were not reached in time
	Facts  []Fact
	// Surplus is how many facts were left out, as there are mostFacts without them: each
	// once, however many agents tell it, and those of mostFacts others at most.
	Surplus int
}

// Ask asks all agents, and takes less than a minute. The error is of the name alone: agents
// that do not answer are counted.
func (a *Agents) Ask(ctx context.Context) (Asked, error) {
	ctx, stop := context.WithTimeout(ctx, cmp.Or(a.within, roundWithin))
	defer stop()
	lookup := a.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	found, err := lookup(ctx, "ip", a.Host)
	if err != nil {
		return Asked{}, err
	}
	found = found[:min(len(found), mostAgents)]
	asked := Asked{Agents: len(found)}
	told := newSightings() // an agent on each node says the same of a DaemonSet
	var mu sync.Mutex
	var group sync.WaitGroup
	turn := make(chan struct{}, atOnce)
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
			told.add(facts)
		})
	}
	group.Wait()
	asked.Facts, asked.Surplus = slices.Collect(maps.Values(told.all)), len(told.surplus)
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

// seen is what is read of a container in an agent's document, package finding's Node.
type seen struct {
	Namespace, Workload, Container, Image *string
	Digest                                *string `json:"image_digest"`
	Processes                             first
}

// first is the Go process of a container that started first, nil = there is none.
type first struct{ process *process }

type process struct {
	Go    *string `json:"go_version"`
	Aware *bool   `json:"container_aware"`
	// Started is a time, nil = unknown.
	Started *string `json:"started"`
}

// leastAge is how long a process has to run to be a container's program: a probe is none.
const leastAge = time.Minute

// stays reports whether it had run for so long when it was seen. Unknown is long enough.
func (p *process) stays(at string) bool {
	if p.Started == nil {
		return true
	}
	seen, err := time.Parse(time.RFC3339, at)
	started, bad := time.Parse(time.RFC3339, *p.Started)
	return err != nil || bad != nil || seen.Sub(started) >= leastAge
}

// UnmarshalJSON passes over all others: a document may be made of millions.
func (f *first) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if token, err := dec.Token(); token != json.Delim('[') || !dec.More() {
		return err
	}
	return dec.Decode(&f.process)
}

var errNoDocument = errors.New("no document of snug agent")

// Read reads an agent's document, a container at a time. A container's program is the Go
// process that started first, if it has run for a minute. What lacks a name that has to be known is left out, and so
// is what comes after mostFacts.
func Read(r io.Reader) ([]Fact, error) {
	dec := json.NewDecoder(io.LimitReader(r, mostAnswer))
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
		case "snug", "kind", "at": // which stand before all else
			var text string
			err = dec.Decode(&text)
			head[key.(string)] = text
		case "containers":
			facts, err = each(dec, facts, func(c *seen) (Fact, bool) { return c.fact(head["at"]) })
		case "other_containers": // all of whose processes were looked at, and none is Go's
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

// each adds the facts of a list of containers.
func each(dec *json.Decoder, facts []Fact, program func(*seen) (Fact, bool)) ([]Fact, error) {
	token, err := dec.Token()
	if err != nil || token == nil {
		return facts, err // null
	}
	if token != json.Delim('[') {
		return nil, errNoDocument
	}
	var c seen // one for all: a list may be of millions
	for dec.More() {
		c = seen{}
		if err := dec.Decode(&c); err != nil {
			return nil, err
		}
		f, ok := program(&c)
		f.Namespace, f.Workload, f.Container, f.Image, f.Digest = said(c.Namespace), said(c.Workload), said(c.Container), said(c.Image), said(c.Digest)
		if ok && f.valid() && len(facts) < mostFacts {
			facts = append(facts, f)
		}
	}
	_, err = dec.Token()
	return facts, err
}

// said is a text, "" where there is none.
func said(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// fact is what a container's program is, without its names. at is when it was seen.
func (c *seen) fact(at string) (Fact, bool) {
	p := c.Processes.process
	if p == nil || p.Go == nil || !p.stays(at) {
		return Fact{}, false
	}
	m := version.FindStringSubmatch(*p.Go)
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

// version is that of a release of Go; others tell nothing that can be relied on.
var version = regexp.MustCompile(`^go(1\.[0-9]{1,3})([.rb][-.0-9a-z]*)?( .*)?$`)

// ParseAgents reads HOST:PORT.
func ParseAgents(text string) (*Agents, bool) {
	host, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || bad != nil || n == 0 {
		return nil, false
	}
	return &Agents{Host: host, Port: port}, true
}
