// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

// Secret stores certificates in a Secret, and writes their CAs into the webhook configurations. It
// is a cert.Store.
type Secret struct {
	kept
	configuration string
}

// NewSecret returns a store. configuration is the name of the mutating and the validating webhook
// configuration; one of the two may be missing.
func NewSecret(client *rest.Client, namespace, name, configuration string) *Secret {
	return &Secret{kept{client: client, resource: "secrets", kind: "Secret", namespace: namespace, name: name, own: cert.Keys}, configuration}
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

// configurations are the resources of webhook configurations.
var configurations = []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}

// entry is the part of a webhook in a configuration with the CA that clients trust.
type entry struct {
	Name   string `json:"name"`
	Client struct {
		Bundle string `json:"caBundle,omitempty"`
	} `json:"clientConfig"`
}

// Tell implements cert.Store. It assumes that all entries of the configurations are this webhook's.
func (s *Secret) Tell(ctx context.Context, bundle []byte) (changed bool, err error) {
	want := base64.StdEncoding.EncodeToString(bundle)
	found := false
	for _, kind := range configurations {
		path := "/apis/admissionregistration.k8s.io/v1/" + kind + "/" + s.configuration
		var got struct {
			Webhooks []entry `json:"webhooks"`
		}
		err := s.client.Get(ctx, path, &got)
		if rest.Is(err, http.StatusNotFound) {
			continue
		}
		if err != nil {
			return changed, err
		}
		found = true
		var stale []entry
		for _, e := range got.Webhooks {
			if e.Client.Bundle != want {
				e.Client.Bundle = want
				stale = append(stale, e)
			}
		}
		if len(stale) == 0 {
			continue
		}
		if err = s.client.Patch(ctx, path, map[string]any{"webhooks": stale}); err != nil {
			return changed, err
		}
		changed = true
	}
	if !found {
		return false, errors.New("there are no webhook configurations named " + s.configuration)
	}
	return changed, nil
}
