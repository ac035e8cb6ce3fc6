// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// pushRelease pushes the images and the chart of a release in dir to a registry, as docker login
// gives access to it. With a key it also pushes the signatures of the images.
func pushRelease(ctx context.Context, dir, version, to string) error {
	key, err := signingKey()
	if err != nil {
		return err
	}
	for _, program := range []string{program, small} {
		ref, err := name.ParseReference(to + "/" + program + ":" + version)
		if err != nil {
			return err
		}
		if err := pushImage(ctx, filepath.Join(dir, imageFile(program)), ref, key); err != nil {
			return err
		}
	}
	helm, err := kubebuild.Find(ctx, "helm4")
	if err != nil {
		return err
	}
	at, err := name.NewRegistry(strings.Split(to, "/")[0])
	if err != nil {
		return err
	}
	args := []string{helm, "push", filepath.Join(dir, program+"-"+number(version)+".tgz"), "oci://" + to + "/charts"}
	if at.Scheme() == "http" { // loopback
		args = append(args, "--plain-http")
	}
	_, err = command(ctx, "", nil, args...)
	return err
}

// pushImage pushes the index in an archive of an OCI image layout.
func pushImage(ctx context.Context, archive string, ref name.Reference, k *key) error {
	dir, err := os.MkdirTemp("", "snug-push-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unpack(archive, dir); err != nil {
		return err
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	list, err := top.IndexManifest()
	if err != nil {
		return err
	}
	if len(list.Manifests) != 1 {
		return fmt.Errorf("%s has %d images", archive, len(list.Manifests))
	}
	digest := list.Manifests[0].Digest
	index, err := top.ImageIndex(digest)
	if err != nil {
		return err
	}
	access := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(ref, index, access...); err != nil {
		return err
	}
	if k == nil {
		return nil
	}
	signature, err := signImage(k, ref.Context().Name(), digest)
	if err != nil {
		return err
	}
	return remote.Write(ref.Context().Tag("sha256-"+digest.Hex+".sig"), signature, access...)
}

// signImage returns the signature of an image in the form of cosign, as an image. See
// https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md.
func signImage(k *key, name string, digest v1.Hash) (v1.Image, error) {
	var payload struct {
		Critical struct {
			Identity struct {
				Reference string `json:"docker-reference"`
			} `json:"identity"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
		Optional *struct{} `json:"optional"`
	}
	payload.Critical.Identity.Reference, payload.Critical.Image.Digest = name, digest.String()
	payload.Critical.Type = "cosign container image signature"
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	s, err := k.sign(text)
	if err != nil {
		return nil, err
	}
	return mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer:       static.NewLayer(text, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": s},
	})
}

// unpack unpacks an archive of this program's own.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	for t := tar.NewReader(f); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%s contains %s", archive, h.Name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		text, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
}
