// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

const (
	// imageFile is the file name of the image in a release, imageName its name in registries and
	// runtimes.
	imageFile = "snug-image.tar"
	imageName = "snug-go/snug"
	// imageUser runs the image's programs. The host has no such user.
	imageUser = "65532:65532"
)

// content is a file of an image.
type content struct {
	name string
	mode int64
	text []byte
}

// The used parts of the OCI image specification, in the order of its examples. See
// https://github.com/opencontainers/image-spec/blob/v1.1.0/spec.md.
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	imageIndex struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Manifests     []descriptor      `json:"manifests"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}
	imageManifest struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Config        descriptor        `json:"config"`
		Layers        []descriptor      `json:"layers"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}
	imageConfig struct {
		Created      string       `json:"created"`
		Architecture string       `json:"architecture"`
		OS           string       `json:"os"`
		Config       imageProcess `json:"config"`
		RootFS       struct {
			Type    string   `json:"type"`
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
		History []imageHistory `json:"history"`
	}
	imageProcess struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	}
	imageHistory struct {
		Created   string `json:"created"`
		CreatedBy string `json:"created_by"`
	}
	// savedImage is an entry of manifest.json, as docker save writes it. Older releases of Docker
	// read only this. See https://github.com/moby/moby/blob/v28.0.0/image/spec/spec.md.
	savedImage struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// imageWriter collects the blobs of an image.
type imageWriter struct {
	created time.Time
	labels  map[string]string
	files   []content // of the archive, in this order
	there   map[string]bool
}

// writeImage writes an archive of an OCI image layout with one image per binary, which holds only
// the binary and the other files (FROM scratch). The same files give the same archive.
//
// containerd, podman and skopeo load all platforms under the name of the image; Docker gets a tag
// for each, TAG-ARCH.
func writeImage(w io.Writer, version string, created time.Time, binaries []binary, beside []content) error {
	i := imageWriter{created: created.UTC(), there: map[string]bool{}, labels: map[string]string{
		"org.opencontainers.image.title":         "snug",
		"org.opencontainers.image.description":   "Go programs that fit their containers",
		"org.opencontainers.image.url":           "https://" + library,
		"org.opencontainers.image.source":        "https://" + library,
		"org.opencontainers.image.documentation": "https://pkg.go.dev/" + tool + "@" + version,
		"org.opencontainers.image.version":       version,
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.created":       created.UTC().Format(time.RFC3339),
	}}
	platforms := imageIndex{SchemaVersion: 2, MediaType: indexType, Annotations: i.labels}
	var saved []savedImage
	for _, b := range binaries {
		m, s, err := i.platform(b, version, beside)
		if err != nil {
			return err
		}
		platforms.Manifests = append(platforms.Manifests, m)
		saved = append(saved, s)
	}
	all, err := i.encode(indexType, platforms)
	if err != nil {
		return err
	}
	all.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": version,
		// Outside of the specification: the full name, for containerd.
		"io.containerd.image.name": "docker.io/" + imageName + ":" + version,
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"index.json", imageIndex{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{all}}},
		{"oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}},
		{"manifest.json", saved},
	} {
		text, err := json.Marshal(f.value)
		if err != nil {
			return err
		}
		i.files = append(i.files, content{f.name, 0o644, text})
	}
	return writeTar(w, i.created, i.files)
}

// platform adds the image of one binary.
func (i *imageWriter) platform(b binary, version string, beside []content) (descriptor, savedImage, error) {
	var layer, packed bytes.Buffer
	if err := writeTar(&layer, i.created, append([]content{{"snug", 0o755, b.text}}, beside...)); err != nil {
		return descriptor{}, savedImage{}, err
	}
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return descriptor{}, savedImage{}, err
	}
	if _, err := z.Write(layer.Bytes()); err != nil {
		return descriptor{}, savedImage{}, err
	}
	if err := z.Close(); err != nil {
		return descriptor{}, savedImage{}, err
	}
	at := i.created.Format(time.RFC3339)
	c := imageConfig{
		Created: at, Architecture: b.arch, OS: "linux",
		Config:  imageProcess{imageUser, []string{"/snug"}, "/", i.labels},
		History: []imageHistory{{at, "go install " + tool + "@" + version}},
	}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{digest(layer.Bytes())}
	m := imageManifest{SchemaVersion: 2, MediaType: manifestType, Layers: []descriptor{i.blob(layerType, packed.Bytes())}, Annotations: i.labels}
	if m.Config, err = i.encode(configType, c); err != nil {
		return descriptor{}, savedImage{}, err
	}
	d, err := i.encode(manifestType, m)
	d.Platform = &platform{b.arch, "linux"}
	return d, savedImage{blobName(m.Config.Digest), []string{imageName + ":" + version + "-" + b.arch}, []string{blobName(m.Layers[0].Digest)}}, err
}

func (i *imageWriter) encode(mediaType string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	return i.blob(mediaType, text), err
}

// blob adds a blob, unless it exists.
func (i *imageWriter) blob(mediaType string, text []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(text), Size: len(text)}
	if !i.there[d.Digest] {
		i.there[d.Digest] = true
		i.files = append(i.files, content{blobName(d.Digest), 0o644, text})
	}
	return d
}

func digest(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

func blobName(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

// writeTar writes files of user 0, all with the same time.
func writeTar(w io.Writer, at time.Time, files []content) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := t.Write(f.text); err != nil {
			return err
		}
	}
	return t.Close()
}
