// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// config is the part of an image's configuration that names its program.
// Source: github.com/opencontainers/image-spec, config.md.
type config struct {
	OS, Architecture, Variant string

	Config struct {
		Entrypoint, Cmd, Env []string
		WorkingDir           string
	} `json:"config"`
}

// programs returns the candidate paths of the image's program, without the first slash. If
// the program is named without a directory, searched is true: the paths are those of PATH,
// and files that are not executable do not count.
func (c *config) programs() (paths []string, searched bool) {
	words := append(append([]string{}, c.Config.Entrypoint...), c.Config.Cmd...)
	if len(words) == 0 || words[0] == "" {
		return nil, false
	}
	if p := words[0]; strings.Contains(p, "/") {
		if !path.IsAbs(p) {
			p = path.Join("/", c.Config.WorkingDir, p)
		}
		return []string{inImage(p)}, false
	}
	where := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range c.Config.Env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			where = p
		}
	}
	for _, dir := range strings.Split(where, ":") {
		if path.IsAbs(dir) && len(paths) < 32 {
			paths = append(paths, inImage(path.Join(dir, words[0])))
		}
	}
	return paths, true
}

// description is the decoded metadata of an image.
type description struct {
	config    config
	layers    []string // names in the store, the topmost first
	platform  string   // "linux/amd64"; "" = unknown
	platforms int      // how many the image has
}

// platform is the platform of an image in an index.
// Source: github.com/opencontainers/image-spec, image-index.md.
type platform struct{ OS, Architecture, Variant string }

func (p platform) String() string {
	if p.OS == "" && p.Architecture == "" {
		return ""
	}
	return strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/")
}

// describe reads the metadata of an image.
func describe(s store, b *budget) (*description, error) {
	d, err := describeSaved(s, b)
	if d == nil && err == nil {
		d, err = describeLayout(s, b)
	}
	if err != nil {
		return nil, err
	}
	if len(d.layers) > maxLayers {
		return nil, errLayers
	}
	slices.Reverse(d.layers)
	if d.platform == "" {
		d.platform = platform{d.config.OS, d.config.Architecture, d.config.Variant}.String()
	}
	return d, nil
}

// describeSaved reads the format of docker save, in which manifest.json names files. It
// returns nil without a manifest.json.
func describeSaved(s store, b *budget) (*description, error) {
	var saved []struct {
		Config string
		Layers []string
	}
	if err := readJSON(s, "manifest.json", b, &saved); err != nil || len(saved) == 0 {
		return nil, nil
	}
	// An image with two names is listed twice.
	for _, one := range saved[1:] {
		if one.Config != saved[0].Config {
			return nil, fmt.Errorf("%d images in one archive", len(saved))
		}
	}
	d := &description{layers: saved[0].Layers, platforms: 1}
	return d, readJSON(s, saved[0].Config, b, &d.config)
}

// describeLayout reads an OCI layout, in which names are digests.
// Source: github.com/opencontainers/image-spec, image-layout.md, manifest.md.
func describeLayout(s store, b *budget) (*description, error) {
	d := &description{platforms: 1}
	name := "index.json"
	for range maxIndex {
		var m struct {
			Manifests []manifest
			Config    struct{ Digest string }
			Layers    []struct{ Digest string }
		}
		if err := readJSON(s, name, b, &m); err != nil {
			return nil, err
		}
		if m.Config.Digest != "" {
			for _, l := range m.Layers {
				d.layers = append(d.layers, digestName(l.Digest))
			}
			return d, readJSON(s, digestName(m.Config.Digest), b, &d.config)
		}
		one, platforms, err := choose(m.Manifests)
		if err != nil {
			return nil, err
		}
		if one == nil {
			break
		}
		name = digestName(one.Digest)
		if text := one.Platform.String(); text != "" {
			d.platform, d.platforms = text, max(platforms, d.platforms)
		}
	}
	return nil, errors.New("the index has no image for Linux")
}

// manifest is an image or an index in an index.
type manifest struct {
	Digest   string
	Platform platform
}

// choose returns an image of an index, and the number of platforms. It returns nil if there
// is none for Linux.
func choose(all []manifest) (one *manifest, platforms int, err error) {
	preference := func(p platform) int {
		return slices.Index([]string{"arm64", "amd64"}, p.Architecture)
	}
	seen := map[platform]string{} // digests
	for i := range all {
		m := &all[i]
		// An index may also have attestations, of platform unknown.
		if m.Platform.OS == "unknown" || m.Platform.OS != "" && m.Platform.OS != "linux" {
			continue
		}
		if digest, ok := seen[m.Platform]; ok && digest != m.Digest {
			return nil, 0, errors.New("more than one image in an index")
		}
		seen[m.Platform] = m.Digest
		if one == nil || preference(m.Platform) > preference(one.Platform) {
			one = m
		}
	}
	return one, len(seen), nil
}

// digestName returns the file name of a digest.
func digestName(digest string) string {
	algorithm, hash, _ := strings.Cut(digest, ":")
	return path.Join("blobs", path.Base(path.Clean("/"+algorithm)), path.Base(path.Clean("/"+hash)))
}
