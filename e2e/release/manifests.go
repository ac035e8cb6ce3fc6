// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"text/template"
)

//go:embed formula.rb.tmpl
var formulaText string

//go:embed krew.yaml.tmpl
var krewText string

// downloads is where the files of all releases are.
const downloads = "https://" + library + "/releases/download/"

// formula returns the formula for Homebrew (https://docs.brew.sh/Formula-Cookbook), and krew the
// manifest for the plug-ins of kubectl (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
func formula(version string, files []content) (content, error) {
	return manifest("snug.rb", formulaText, version, files)
}

func krew(version string, files []content) (content, error) {
	return manifest("krew.yaml", krewText, version, files)
}

// published is what the templates of manifests see.
type published struct {
	Version, Number string
	Archives        []archived
}

// manifest fills a template in.
func manifest(name, text, version string, files []content) (content, error) {
	p := published{Version: version, Number: number(version)}
	for _, s := range systems {
		f, err := find(files, archiveName(version, s))
		if err != nil {
			return content{}, err
		}
		p.Archives = append(p.Archives, archived{s.os, s.arch, binary{program: program, system: s}.file(), downloads + version + "/" + f.name, fmt.Sprintf("%x", sha256.Sum256(f.text))})
	}
	t, err := template.New(name).Parse(text)
	if err != nil {
		return content{}, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return content{name, 0o644, b.Bytes()}, err
}

// archived is an archive in a release.
type archived struct{ OS, Arch, Program, URL, Sum string }

// Of returns the archive of a system.
func (p published) Of(os, arch string) (archived, error) {
	for _, a := range p.Archives {
		if a.OS == os && a.Arch == arch {
			return a, nil
		}
	}
	return archived{}, fmt.Errorf("no archive for %s/%s", os, arch)
}
