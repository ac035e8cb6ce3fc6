// SPDX-License-Identifier: Apache-2.0

// Package hook runs `snug webhook` with a real API server, as in Kubernetes: several replicas
// behind a stand-in for their Service.
package hook

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Service stands in for a Kubernetes Service, which needs kube-proxy. It passes each connection to
// the next endpoint, and closes it if there is none.
type Service struct {
	net.Listener
	mu   sync.Mutex
	next int
	to   []string
}

// NewService listens on loopback until the test ends.
func NewService(t testing.TB) *Service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.join(c)
		}
	}()
	return s
}

// URL returns the address for API servers.
func (s *Service) URL() string { return "https://" + s.Addr().String() }

func (s *Service) join(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	to := ""
	if len(s.to) > 0 {
		s.next++
		to = s.to[s.next%len(s.to)]
	}
	s.mu.Unlock()
	if to == "" {
		return
	}
	backend, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer backend.Close()
	Join(c, backend)
}

// Join copies data in both directions until one of the connections ends.
func Join(a, b net.Conn) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// change adds or removes an endpoint.
func (s *Service) change(endpoint string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var to []string
	for _, e := range s.to {
		if e != endpoint {
			to = append(to, e)
		}
	}
	if there {
		to = append(to, endpoint)
	}
	s.to = to
}
