// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// jobs is the work of a request of http and http/gc.
type jobs struct {
	items  []item
	rounds int   // of SHA-256
	live   *node // for the garbage collector to mark
}

// item is an element of the JSON.
type item struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags"`
	Sum   string   `json:"sum,omitempty"`
}

// node is a live object: 64 bytes with two pointers.
type node struct {
	next *node
	data *[48]byte
}

// newJobs sizes the work: about 0.6 ms of CPU a request on the machine of turnsPerMilli.
// The variant gc has 60,000 live objects, and JSON of 60 items instead of 6.
func newJobs(gc bool) jobs {
	j := jobs{rounds: 1300}
	n := 6
	if gc {
		n, j.rounds = 60, 800
		for range 30_000 {
			j.live = &node{j.live, &[48]byte{}} // two objects
		}
	}
	for i := range n {
		j.items = append(j.items, item{
			ID: i, Name: fmt.Sprintf("%s %s %d", vocabulary[i], vocabulary[2*i+1], i), Price: 1.25 * float64(i),
			Tags: []string{vocabulary[i+7], vocabulary[i+11], vocabulary[i+13]},
		})
	}
	return j
}

func (j jobs) list() []item { return j.items }

// do calls the back end, hashes its answer, and adds the sum to each item.
func (j jobs) do(ctx context.Context, client *http.Client, url string) ([]item, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := bounded.ReadAll(resp.Body, 16<<20)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("back end: %s", resp.Status)
	}
	sum := hash(body[:min(len(body), 512)], j.rounds)
	var items []item
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, err
	}
	for i := range items {
		items[i].Sum = hex.EncodeToString(sum[:8])
	}
	return items, nil
}
