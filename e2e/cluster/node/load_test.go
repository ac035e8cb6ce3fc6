// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// answers holds the results of a closed loop of clients: each sends its next request after a
// response.
type answers struct {
	Clients   int     `json:"clients"`
	Seconds   float64 `json:"seconds"`
	Requests  int     `json:"requests"`
	Failed    int     `json:"failed"`
	PerSecond float64 `json:"requests_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
}

// load sends requests to url until stop is closed. It does not count requests sent before begin.
func load(url string, clients int, begin time.Time, stop <-chan struct{}) answers {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: deadline}
	s := answers{Clients: clients}
	var mu sync.Mutex
	var group sync.WaitGroup
	var took []time.Duration
	for range clients {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked := time.Now()
				err := ask(client, url)
				if err != nil {
					time.Sleep(10 * time.Millisecond) // the pod may be being replaced
				}
				if asked.Before(begin) {
					continue
				}
				mu.Lock()
				if err != nil {
					s.Failed++
				} else {
					took = append(took, time.Since(asked))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	s.Requests, s.Seconds = len(took), time.Since(begin).Seconds()
	s.PerSecond = float64(s.Requests) / s.Seconds
	slices.Sort(took)
	at := func(share float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return took[int(share*float64(len(took)-1))].Seconds() * 1e3
	}
	s.P50, s.P99, s.Max = at(0.5), at(0.99), at(1)
	return s
}

func ask(client *http.Client, url string) error {
	r, err := client.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err = io.Copy(io.Discard, r.Body); err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, r.Status)
	}
	return err
}
