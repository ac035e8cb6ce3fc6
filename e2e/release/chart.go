// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const chartDir = "deploy/helm/snug"

// chart returns the package of the chart, as helm package makes it, but with the time of the
// release.
func (t tree) chart(ctx context.Context, version string, at time.Time) (content, error) {
	text, err := os.ReadFile(filepath.Join(t.root, chartDir, "Chart.yaml"))
	if err != nil {
		return content{}, err
	}
	var about struct {
		Version     string
		AppVersion  string `yaml:"appVersion"`
		Annotations map[string]string
	}
	if err := yaml.Unmarshal(text, &about); err != nil {
		return content{}, err
	}
	image := registryName + "/" + program + ":" + version
	if about.AppVersion != version || about.Version != number(version) || !strings.Contains(about.Annotations["artifacthub.io/images"], "image: "+image+"\n") {
		return content{}, fmt.Errorf("the chart's Chart.yaml is not of version %s with the image %s", version, image)
	}
	names, err := t.files(ctx, chartDir)
	if err != nil {
		return content{}, err
	}
	var files []content
	for _, name := range names {
		// .helmignore has the same, and what an editor leaves.
		if filepath.Ext(name) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(t.root, chartDir, name))
		if err != nil {
			return content{}, err
		}
		files = append(files, content{program + "/" + name, 0o644, text})
	}
	packed, err := tarball(at, files)
	return content{program + "-" + number(version) + ".tgz", 0o644, packed}, err
}
