// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/snug-go/snug/cmd/snug/internal/kube/rest"
)

// kept is an object of the API in which a webhook keeps something for all its replicas.
type kept struct {
	client          *rest.Client
	resource, kind  string // "secrets", "Secret"
	namespace, name string

	own []string // keys that are this one's; others stay as they are
	old object   // that was loaded
}

// object is a Secret or a ConfigMap.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Meta       meta              `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string]string `json:"data"`
}

// meta is of an object's metadata what is needed to write it.
type meta struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Version   string            `json:"resourceVersion,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Annotations and owners are somebody else's, and stay.
	Annotations map[string]string `json:"annotations,omitempty"`
	Owners      []any             `json:"ownerReferences,omitempty"`
}

// managed is the label of what a webhook makes by itself.
var managed = map[string]string{"app.kubernetes.io/managed-by": "snug-webhook"}

func (k *kept) collection() string { return "/api/v1/namespaces/" + k.namespace + "/" + k.resource }

// load returns the data and its version; nil and "" where there is no such object.
func (k *kept) load(ctx context.Context) (map[string]string, string, error) {
	var got object
	err := k.client.Get(ctx, k.collection()+"/"+k.name, &got)
	if rest.Is(err, http.StatusNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", k.failed("read", err)
	}
	k.old = got
	return maps.Clone(got.Data), got.Meta.Version, nil
}

// save puts data in place of the version that was loaded. conflict is its error when
// somebody else was first.
func (k *kept) save(ctx context.Context, data map[string]string, version string, conflict error) error {
	o := object{Meta: meta{Name: k.name, Namespace: k.namespace, Labels: managed}}
	if version != "" {
		o = k.old // its type cannot be changed, nor need its labels be
		o.Meta.Version = version
	}
	o.APIVersion, o.Kind = "v1", k.kind
	if o.Data = maps.Clone(o.Data); o.Data == nil {
		o.Data = map[string]string{}
	}
	for _, key := range k.own {
		delete(o.Data, key)
	}
	maps.Copy(o.Data, data)
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

// failed says what could not be done, by the name of the object.
func (k *kept) failed(what string, err error) error {
	return fmt.Errorf("cannot %s the %s %s/%s, trying again: %w", what, k.kind, k.namespace, k.name, err)
}
