// SPDX-License-Identifier: Apache-2.0

package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// Image is an image of one static program, as from `FROM scratch`.
type Image struct {
	Program string
	Env     []string // NAME=value, as set by ENV
}

// Image imports an image into the container runtime. Its name must start with "localhost/", so that
// no registry is asked for it.
func (n *Node) Image(t testing.TB, name string, i Image) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := i.write(path, name); err != nil {
		t.Fatal(err)
	}
	n.Import(t, path)
}

// write writes the image like `docker save`: a manifest, a configuration and a layer with the
// program at /app (https://github.com/moby/moby/blob/v28.0.0/image/spec/spec.md).
func (i Image) write(path, name string) error {
	text, err := os.ReadFile(i.Program)
	if err != nil {
		return err
	}
	var layer archive
	layer.add("app", 0o755, text)
	content, err := layer.close()
	if err != nil {
		return err
	}
	config, err := json.Marshal(kube.Object{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": kube.Object{"Entrypoint": []string{"/app"}, "WorkingDir": "/", "Env": i.Env},
		"rootfs": kube.Object{"type": "layers", "diff_ids": []string{"sha256:" + sum(content)}},
	})
	if err != nil {
		return err
	}
	configName := sum(config) + ".json"
	manifest, err := json.Marshal([]kube.Object{{"Config": configName, "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	var image archive
	image.add("manifest.json", 0o644, manifest)
	image.add(configName, 0o644, config)
	image.add("layer.tar", 0o644, content)
	if content, err = image.close(); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// archive is a tar file in memory. It keeps the first error.
type archive struct {
	buffer bytes.Buffer
	w      *tar.Writer
	err    error
}

func (a *archive) add(name string, mode int64, text []byte) {
	if a.w == nil {
		a.w = tar.NewWriter(&a.buffer)
	}
	if a.err == nil {
		// A fixed time makes the image reproducible.
		a.err = a.w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text)), ModTime: time.Unix(0, 0)})
	}
	if a.err == nil {
		_, a.err = a.w.Write(text)
	}
}

func (a *archive) close() ([]byte, error) {
	if a.err == nil {
		a.err = a.w.Close()
	}
	if a.err != nil {
		return nil, fmt.Errorf("write archive: %w", a.err)
	}
	return a.buffer.Bytes(), nil
}
