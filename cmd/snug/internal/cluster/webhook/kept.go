// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

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
