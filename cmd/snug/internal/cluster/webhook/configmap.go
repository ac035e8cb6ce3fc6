// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

// factsKey is the key of the facts in a ConfigMap.
const factsKey = "facts.json"

// ConfigMap stores facts in a ConfigMap. It is a learned.Store.
type ConfigMap struct{ kept }

// NewConfigMap returns a store.
func NewConfigMap(client *rest.Client, namespace, name string) *ConfigMap {
	return &ConfigMap{kept{client: client, resource: "configmaps", kind: "ConfigMap", namespace: namespace, name: name, own: []string{factsKey}}}
}

// Load implements learned.Store.
func (c *ConfigMap) Load(ctx context.Context) ([]byte, string, error) {
	data, version, err := c.load(ctx)
	if err != nil || version == "" {
		return nil, version, err
	}
	return []byte(data[factsKey]), version, nil
}

// Save implements learned.Store.
func (c *ConfigMap) Save(ctx context.Context, text []byte, version string) error {
	return c.save(ctx, map[string]string{factsKey: string(text)}, version, learned.ErrConflict)
}
