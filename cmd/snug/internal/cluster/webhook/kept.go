// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

// kept is an object of the API with data that all replicas of a webhook share.
type kept struct {
	client          *rest.Client
	resource, kind  string // "secrets", "Secret"
	namespace, name string

	own []string // keys of data that snug writes; others stay as they are
	// The loaded object without its metadata and data, and these.
	old, meta object
	data      map[string]string
}

// object is an object of the API, or a part of one, by key.
type object map[string]json.RawMessage

// get decodes the value of a key. A missing key changes nothing.
func (o object) get(key string, to any) error {
	if text, ok := o[key]; ok {
		return json.Unmarshal(text, to)
	}
	return nil
}

// managed is the label of objects that a webhook creates.
var managed = map[string]string{"app.kubernetes.io/managed-by": "snug-webhook"}

func (k *kept) collection() string { return "/api/v1/namespaces/" + k.namespace + "/" + k.resource }

// load returns the data and its version; nil and "" if there is no such object.
func (k *kept) load(ctx context.Context) (map[string]string, string, error) {
	var got, meta object
	var data map[string]string
	var version string
	err := k.client.Get(ctx, k.collection()+"/"+k.name, &got)
	if rest.Is(err, http.StatusNotFound) {
		return nil, "", nil
	}
	if err == nil {
		err = errors.Join(got.get("metadata", &meta), meta.get("resourceVersion", &version), got.get("data", &data))
	}
	if err != nil {
		return nil, "", k.failed("read", err)
	}
	delete(got, "metadata")
	delete(got, "data")
	k.old, k.meta, k.data = got, meta, data
	return maps.Clone(data), version, nil
}

// save replaces the data of the loaded version. It returns conflict if another process has
// changed the object since.
func (k *kept) save(ctx context.Context, data map[string]string, version string, conflict error) error {
	o, meta, all := map[string]any{}, map[string]any{}, map[string]string{}
	if version == "" {
		meta["labels"] = managed
	} else {
		fill(o, k.old) // the type of a Secret is immutable
		fill(meta, k.meta)
		meta["resourceVersion"] = version
		maps.Copy(all, k.data)
	}
	for _, key := range k.own {
		delete(all, key)
	}
	maps.Copy(all, data)
	meta["name"], meta["namespace"] = k.name, k.namespace
	o["apiVersion"], o["kind"], o["metadata"], o["data"] = "v1", k.kind, meta, all
	var err error
	if version == "" {
		err = k.client.Create(ctx, k.collection(), o)
	} else {
		err = k.client.Update(ctx, k.collection()+"/"+k.name, o)
	}
	if rest.Is(err, http.StatusConflict) {
		return conflict
	}
	if err != nil {
		return k.failed("write", err)
	}
	return nil
}

// fill copies the members of an object.
func fill(o map[string]any, from object) {
	for key, text := range from {
		o[key] = text
	}
}

// failed adds the operation and the object to an error.
func (k *kept) failed(what string, err error) error {
	return fmt.Errorf("cannot %s the %s %s/%s, trying again: %w", what, k.kind, k.namespace, k.name, err)
}

// factsKey is the key of the facts in a ConfigMap.
const factsKey = "facts.json"

// ConfigMap stores facts in a ConfigMap. It is a learned.Store.
type ConfigMap struct{ kept }

// NewConfigMap returns a store.
func NewConfigMap(client *rest.Client, namespace, name string) *ConfigMap {
	return &ConfigMap{kept{
		client: client, resource: "configmaps", kind: "ConfigMap", namespace: namespace, name: name, own: []string{factsKey},
	}}
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

// Secret stores certificates in a Secret, and writes their CAs into the webhook configuration. It
// is a cert.Store.
type Secret struct {
	kept
	configuration string
}

// NewSecret returns a store. configuration is the name of the mutating webhook configuration.
func NewSecret(client *rest.Client, namespace, name, configuration string) *Secret {
	of := kept{client: client, resource: "secrets", kind: "Secret", namespace: namespace, name: name, own: cert.Keys}
	return &Secret{of, configuration}
}

// Load implements cert.Store.
func (s *Secret) Load(ctx context.Context) (map[string][]byte, string, error) {
	got, version, err := s.load(ctx)
	if err != nil || version == "" {
		return nil, version, err
	}
	data := map[string][]byte{}
	for k, v := range got {
		// The API server stores only valid base64.
		data[k], _ = base64.StdEncoding.DecodeString(v)
	}
	return data, version, nil
}

// Save implements cert.Store.
func (s *Secret) Save(ctx context.Context, data map[string][]byte, version string) error {
	text := map[string]string{}
	for k, v := range data {
		text[k] = base64.StdEncoding.EncodeToString(v)
	}
	return s.save(ctx, text, version, cert.ErrConflict)
}

// entry is the part of a webhook in a configuration with the CA that clients trust.
type entry struct {
	Name   string `json:"name"`
	Client struct {
		Bundle string `json:"caBundle,omitempty"`
	} `json:"clientConfig"`
}

// Tell implements cert.Store. It assumes that all entries of the configuration are this webhook's.
func (s *Secret) Tell(ctx context.Context, bundle []byte) (changed bool, err error) {
	want := base64.StdEncoding.EncodeToString(bundle)
	path := "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + s.configuration
	var got struct {
		Webhooks []entry `json:"webhooks"`
	}
	err = s.client.Get(ctx, path, &got)
	if rest.Is(err, http.StatusNotFound) {
		return false, errors.New("there is no webhook configuration named " + s.configuration)
	}
	if err != nil {
		return false, err
	}
	var stale []entry
	for _, e := range got.Webhooks {
		if e.Client.Bundle != want {
			e.Client.Bundle = want
			stale = append(stale, e)
		}
	}
	if len(stale) == 0 {
		return false, nil
	}
	err = s.client.Patch(ctx, path, map[string]any{"webhooks": stale})
	return err == nil, err
}

// Repeat calls keep every so often until ctx ends. It notes an error if it differs from the one before.
func Repeat(ctx context.Context, every time.Duration, note func(string), keep func(context.Context, time.Time) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := ""; ; {
		text := ""
		if err := keep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			text = err.Error()
		}
		if text != last && text != "" {
			note(text)
		}
		last = text
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
