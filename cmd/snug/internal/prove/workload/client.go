// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// FetchStats reads the Stats of a service at the address that ReadListening returned. It
// stops the service's world once, so call it only outside a window. A new peak of the
// heap starts with it.
func FetchStats(ctx context.Context, base string) (Stats, error) {
	var s Stats
	err := fetch(ctx, base, "-/stats", &s)
	return s, err
}

// FetchProbe makes a service spin with this many threads for d, at most a minute, and
// returns how long they were held back. threads must not exceed its GOMAXPROCS; 0 is
// GOMAXPROCS. Other load at the same time counts as gaps.
func FetchProbe(ctx context.Context, base string, threads int, d time.Duration) (Probe, error) {
	var p Probe
	err := fetch(ctx, base, fmt.Sprintf("-/probe?threads=%d&seconds=%g", threads, d.Seconds()), &p)
	return p, err
}

func fetch(ctx context.Context, base, path string, v any) error {
	at, err := url.Parse(base)
	if err != nil {
		return err
	}
	if at, err = at.Parse(path); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	// A new connection, without proxy or keep-alive: the next run may be
	// another program on the same port.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, 16<<20)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", at, resp.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}
