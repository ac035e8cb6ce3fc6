// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	gotarball "github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// registryName holds the images. Images have the names of their programs.
	registryName = "ghcr.io/snug-go"
	// imageUser runs the images' programs. The host has no such user.
	imageUser = "65532:65532"
)

// imageFile is the file name of a program's image in a release.
func imageFile(program string) string { return program + "-image.tar" }

// makeImage makes an index of one image per binary of a program. An image has one layer, of the
// binary and the other files (FROM scratch).
func makeImage(program, version string, created time.Time, binaries []binary, beside []content) (v1.ImageIndex, error) {
	labels := map[string]string{
		"org.opencontainers.image.title":         program,
		"org.opencontainers.image.description":   "Go programs that fit their containers",
		"org.opencontainers.image.url":           "https://" + library,
		"org.opencontainers.image.source":        "https://" + library,
		"org.opencontainers.image.documentation": "https://pkg.go.dev/" + packages[program] + "@" + version,
		"org.opencontainers.image.version":       version,
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.created":       created.UTC().Format(time.RFC3339),
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		if b.program != program || b.os != "linux" {
			continue
		}
		packed, err := tarball(created, append([]content{{program, 0o755, b.text}}, beside...))
		if err != nil {
			return nil, err
		}
		layer, err := gotarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }, gotarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: created.UTC()}, CreatedBy: "go install " + packages[program] + "@" + version},
		})
		if err != nil {
			return nil, err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		config.Created, config.OS, config.Architecture = v1.Time{Time: created.UTC()}, "linux", b.arch
		config.Config = v1.Config{User: imageUser, Entrypoint: []string{"/" + program}, WorkingDir: "/", Labels: labels}
		if image, err = mutate.ConfigFile(image, config); err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        mutate.Annotations(image, labels).(v1.Image),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: b.arch}},
		})
	}
	return mutate.Annotations(index, labels).(v1.ImageIndex), nil
}

// savedImage is an entry of manifest.json, as docker save writes it. Docker without containerd's
// image store loads only this. See https://github.com/moby/moby/blob/v28.0.0/image/spec/spec.md.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// packImage returns an archive of an OCI image layout. containerd, podman and skopeo load all
// platforms under the name of the image; Docker gets a tag for each, TAG-ARCH.
func packImage(index v1.ImageIndex, name, version string, at time.Time) ([]byte, error) {
	dir, err := os.MkdirTemp("", "snug-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version,
		// Outside of the specification: the full name, for containerd.
		"io.containerd.image.name": name + ":" + version,
	})); err != nil {
		return nil, err
	}
	saved, err := savedImages(index, name+":"+version)
	if err != nil {
		return nil, err
	}
	files := []content{{"manifest.json", 0o644, saved}}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files = append(files, content{filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))), 0o644, text})
		return err
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = writeTar(&b, at, files)
	return b.Bytes(), err
}

func savedImages(index v1.ImageIndex, name string) ([]byte, error) {
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var all []savedImage
	for _, d := range list.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		m, err := image.Manifest()
		if err != nil {
			return nil, err
		}
		s := savedImage{Config: "blobs/sha256/" + m.Config.Digest.Hex, RepoTags: []string{name + "-" + d.Platform.Architecture}}
		for _, l := range m.Layers {
			s.Layers = append(s.Layers, "blobs/sha256/"+l.Digest.Hex)
		}
		all = append(all, s)
	}
	return json.Marshal(all)
}
