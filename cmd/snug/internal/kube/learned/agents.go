// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Agents are where `snug agent` answers: the addresses of a name.
type Agents struct {
	Host, Port string
	// Lookup finds addresses; nil = net.DefaultResolver.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	// atOnce agents are asked at the same time, each answersWithin.
	atOnce        = 8
	answersWithin = 15 * time.Second
	// mostAnswer bytes are read of an agent's document; mostAgents are asked.
	mostAnswer = 32 << 20
	mostAgents = 10000
)

// agents' own client: no proxy stands between pods, and connections are not kept from
// minute to minute.
var client = &http.Client{
	Timeout:       answersWithin,
	Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Asked is what became of asking all agents.
type Asked struct {
	Agents, Silent int
	Facts          []Fact
}

// Ask asks all agents. The error is of the name alone: agents that do not answer are
// counted.
func (a *Agents) Ask(ctx context.Context) (Asked, error) {
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
			asked.Facts = append(asked.Facts, facts[:min(len(facts), mostFacts-min(mostFacts, len(asked.Facts)))]...)
		})
	}
	group.Wait()
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

// node is what is read of an agent's document, package finding's Node.
type node struct {
	Snug, Kind string
	Containers []struct {
		Namespace, Workload, Container, Image *string
		Digest                                *string `json:"image_digest"`
		Processes                             []struct {
			Go    *string `json:"go_version"`
			Aware *bool   `json:"container_aware"`
		}
	}
	// Others are containers all of whose processes were looked at, and none is Go's.
	Others []struct {
		Namespace, Workload, Container, Image *string
		Digest                                *string `json:"image_digest"`
	} `json:"other_containers"`
}

var errNoDocument = errors.New("no document of snug agent")

// Read reads an agent's document. A container's program is the Go process that started
// first. What lacks a name that has to be known is left out.
func Read(r io.Reader) ([]Fact, error) {
	var d node
	if err := json.NewDecoder(io.LimitReader(r, mostAnswer)).Decode(&d); err != nil || d.Snug != "v1" || d.Kind != "agent" {
		return nil, errNoDocument
	}
	var facts []Fact
	add := func(f Fact, namespace, workload, container, image, digest *string) {
		for to, from := range map[*string]*string{&f.Namespace: namespace, &f.Workload: workload, &f.Container: container, &f.Image: image, &f.Digest: digest} {
			if from != nil {
				*to = *from
			}
		}
		if f.valid() {
			facts = append(facts, f)
		}
	}
	for _, c := range d.Containers {
		if len(c.Processes) == 0 || c.Processes[0].Go == nil {
			continue
		}
		p := c.Processes[0]
		m := version.FindStringSubmatch(*p.Go)
		if m == nil {
			continue
		}
		f := Fact{Go: m[1]}
		minor, _ := minorOf(f.Go)
		f.Blind = minor < 25
		if p.Aware != nil {
			f.Blind = !*p.Aware
		}
		add(f, c.Namespace, c.Workload, c.Container, c.Image, c.Digest)
	}
	for _, c := range d.Others {
		add(Fact{}, c.Namespace, c.Workload, c.Container, c.Image, c.Digest)
	}
	return facts, nil
}

// version is that of a release of Go; others tell nothing that can be relied on.
var version = regexp.MustCompile(`^go(1\.[0-9]{1,3})([.rb][-.0-9a-z]*)?( .*)?$`)

// ParseAgents reads HOST:PORT.
func ParseAgents(text string) (*Agents, bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || port == "" || strings.Trim(port, "0123456789") != "" {
		return nil, false
	}
	return &Agents{Host: host, Port: port}, true
}
