// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// store is the URL of an etcd, used through its JSON gateway
// (https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/).
type store string

// An API server's keys are from begin up to, but not including, end.
const begin, end = "/registry/", "/registry0"

// pair is a key and its value. In JSON both are base64, as in the gateway.
type pair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// lease reports whether the pair is a lease, which the server renews continually.
func (p pair) lease() bool {
	return bytes.HasPrefix(p.Key, []byte(begin+"leases/")) || bytes.HasPrefix(p.Key, []byte(begin+"peerserverleases/"))
}

// ask sends a request to a method of the gateway.
func (s store) ask(ctx context.Context, word string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s)+"/v3/kv/"+word, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// all returns the pairs at a revision (0 = current) in the order of their keys, and the current
// revision.
func (s store) all(ctx context.Context, revision int64) ([]pair, int64, error) {
	var found struct {
		Header struct {
			Revision int64 `json:",string"`
		}
		Kvs []pair
	}
	err := s.ask(ctx, "range", map[string]any{"key": []byte(begin), "range_end": []byte(end), "revision": revision}, &found)
	return found.Kvs, found.Header.Revision, err
}

// restore returns etcd to its state at a revision. It returns the keys that it removed, and whether
// nothing differed.
func (s store) restore(ctx context.Context, revision int64) (removed []string, same bool, err error) {
	first, _, err := s.all(ctx, revision)
	if err != nil {
		return nil, false, err
	}
	now, _, err := s.all(ctx, 0)
	if err != nil {
		return nil, false, err
	}
	was := map[string][]byte{}
	for _, p := range first {
		was[string(p.Key)] = p.Value
	}
	is := map[string][]byte{}
	for _, p := range now {
		is[string(p.Key)] = p.Value
	}
	isNew := func(p pair) bool { _, old := was[string(p.Key)]; return !old }
	same = true
	for i, p := range now {
		if !isNew(p) {
			continue
		}
		removed, same = append(removed, string(p.Key)), false
		// Adjacent keys are removed in one request: there may be thousands.
		if i > 0 && isNew(now[i-1]) {
			continue
		}
		to := []byte(end)
		if next := slices.IndexFunc(now[i:], func(p pair) bool { return !isNew(p) }); next > 0 {
			to = now[i+next].Key
		}
		if err := s.ask(ctx, "deleterange", map[string]any{"key": p.Key, "range_end": to}, &struct{}{}); err != nil {
			return nil, false, err
		}
	}
	for _, p := range first {
		if !bytes.Equal(is[string(p.Key)], p.Value) && !p.lease() {
			same = false
			if err := s.ask(ctx, "put", p, &struct{}{}); err != nil {
				return nil, false, err
			}
		}
	}
	return removed, same, nil
}
