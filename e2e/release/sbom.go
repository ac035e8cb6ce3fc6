// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The parts of SPDX 2.3 that are used, in the order of its JSON examples. See
// https://spdx.github.io/spdx-spec/v2.3/.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Files         []spdxFile         `json:"files"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID               string         `json:"SPDXID"`
		Name             string         `json:"name"`
		VersionInfo      string         `json:"versionInfo"`
		DownloadLocation string         `json:"downloadLocation"`
		FilesAnalyzed    bool           `json:"filesAnalyzed"`
		LicenseConcluded string         `json:"licenseConcluded"`
		LicenseDeclared  string         `json:"licenseDeclared"`
		Copyright        string         `json:"copyrightText"`
		ExternalRefs     []spdxExternal `json:"externalRefs"`
	}
	spdxExternal struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxFile struct {
		ID               string         `json:"SPDXID"`
		Name             string         `json:"fileName"`
		Types            []string       `json:"fileTypes"`
		Checksums        []spdxChecksum `json:"checksums"`
		LicenseConcluded string         `json:"licenseConcluded"`
		Copyright        string         `json:"copyrightText"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

// writeSBOM lists the binaries, the module that they are built from, and the contents of each
// according to its build information.
func writeSBOM(version string, created time.Time, binaries []binary, licences []licence) ([]byte, error) {
	root := modulePackage(tool, version, "Apache-2.0")
	doc := spdxDocument{
		Version:     "SPDX-2.3",
		DataLicense: "CC0-1.0",
		ID:          "SPDXRef-DOCUMENT",
		Name:        "snug-" + version,
		Creation:    spdxCreation{created.UTC().Format(time.RFC3339), []string{"Tool: snug-release"}},
		Packages:    []spdxPackage{root, modulePackage(library, version, "Apache-2.0")},
	}
	doc.relate(doc.ID, "DESCRIBES", root.ID)
	doc.relate(root.ID, "CONTAINS", packageID(library))
	for _, l := range licences {
		doc.Packages = append(doc.Packages, modulePackage(l.module.Path, l.module.Version, l.id))
	}
	sums := ""
	for _, b := range binaries {
		f := spdxFile{
			ID: "SPDXRef-File-" + b.name(), Name: "./" + b.system.String() + "/" + b.file(), Types: []string{"BINARY"},
			LicenseConcluded: "NOASSERTION", Copyright: "NOASSERTION",
		}
		// SPDX wants SHA-1 of every file, whatever it is still good for.
		f.Checksums = []spdxChecksum{{"SHA1", fmt.Sprintf("%x", sha1.Sum(b.text))}, {"SHA256", b.sum()}}
		sums += b.sum()
		doc.Files = append(doc.Files, f)
		doc.relate(f.ID, "GENERATED_FROM", root.ID)
		doc.relate(f.ID, "STATIC_LINK", packageID(std))
		for _, m := range b.info.Deps {
			doc.relate(f.ID, "STATIC_LINK", packageID(m.Path))
		}
	}
	doc.Namespace = fmt.Sprintf("https://github.com/snug-go/snug/releases/%s/sbom-%x", version, sha256.Sum256([]byte(sums)))
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

func (d *spdxDocument) relate(from, how, to string) {
	d.Relationships = append(d.Relationships, spdxRelationship{from, how, to})
}

// modulePackage describes a Go module. Package URLs are those of
// https://github.com/package-url/purl-spec, type golang.
func modulePackage(path, version, licence string) spdxPackage {
	p := spdxPackage{
		ID: packageID(path), Name: path, VersionInfo: version,
		DownloadLocation: "NOASSERTION", // the package URL has the location: modules come from any proxy
		LicenseConcluded: licence, LicenseDeclared: licence, Copyright: "NOASSERTION",
		ExternalRefs: []spdxExternal{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(path) + "@" + version}},
	}
	if path == std {
		version = strings.TrimPrefix(version, "go")
		p.VersionInfo = version
		p.ExternalRefs[0].Locator = "pkg:golang/stdlib@" + version
	}
	return p
}

// packageID converts a path to an SPDX identifier: letters, digits, dots and hyphens.
func packageID(path string) string {
	return "SPDXRef-Package-" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, path)
}

// time returns the time of the release, which is the same for the same source: SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch/), or else that of the last commit to what
// is released. A later commit that only pins its checksums does not change it.
func (t tree) time(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := command(ctx, t.root, nil, "git", "log", "-1", "--format=%ct", "--", ".", ":(exclude)e2e", ":(exclude).ci")
		if err != nil {
			return time.Time{}, fmt.Errorf("no commit to take the time from, set SOURCE_DATE_EPOCH: %w", err)
		}
		text = strings.TrimSpace(out)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the release: %w", err)
	}
	return time.Unix(seconds, 0), nil
}
