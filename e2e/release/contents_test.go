// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// TestContents: the release has these files and no others, their checksums are right, and the same
// binaries give the same files again.
func TestContents(t *testing.T) {
	b := released(t)
	want := []string{
		"SHA256SUMS", "SHA256SUMS.sig", "THIRD_PARTY_LICENSES", "krew.yaml", "provenance.intoto.jsonl", "sbom.spdx.json",
		"snug-0.1.0-1.aarch64.rpm", "snug-0.1.0-1.x86_64.rpm", "snug-0.1.0.tgz", "snug-image.tar", "snug-run-image.tar", "snug.pub", "snug.rb",
		"snug_0.1.0_amd64.deb", "snug_0.1.0_arm64.deb", "snug_0.1.0_darwin_amd64.tar.gz", "snug_0.1.0_darwin_arm64.tar.gz",
		"snug_0.1.0_linux_amd64.tar.gz", "snug_0.1.0_linux_arm64.tar.gz", "snug_0.1.0_windows_amd64.zip", "snug_0.1.0_windows_arm64.zip",
	}
	var names []string
	var sums strings.Builder
	for _, f := range b.files {
		names = append(names, f.name)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the release has\n%q\nwant\n%q", names, want)
	}
	for _, name := range names {
		if !slices.Contains([]string{sumsFile, sumsFile + ".sig", "snug.pub", provenanceFile}, name) {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(read(t, filepath.Join(b.dir, name))), name)
		}
	}
	if got := string(read(t, filepath.Join(b.dir, sumsFile))); got != sums.String() {
		t.Errorf("SHA256SUMS is\n%s\nwant\n%s", got, sums.String())
	}
	again, err := theTree(t).assemble(t.Context(), version, b.binaries, b.cache, b.key)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range again {
		if f.name != b.files[i].name || !bytes.Equal(f.text, b.files[i].text) {
			t.Errorf("%s differs when it is made again", f.name)
		}
	}
	checkSBOM(t, b)
}

// TestLicences: everything that the programs contain is named.
func TestLicences(t *testing.T) {
	licences := string(read(t, filepath.Join(released(t).dir, licenceFile)))
	goLicence := strings.TrimSpace(string(read(t, filepath.Join(strings.TrimSpace(out(t, "go", "env", "GOROOT")), "LICENSE"))))
	for _, want := range []string{"the Go standard library", goLicence, "github.com/spf13/cobra", "Apache License\n"} {
		if !strings.Contains(licences, want) {
			t.Errorf("THIRD_PARTY_LICENSES lacks %.100q", want)
		}
	}
}

// TestSignals: a command of snug run ignores what its caller ignored, as far as Go leaves that alone: see run --help.
func TestSignals(t *testing.T) {
	for _, b := range released(t).binaries {
		if b.system != (system{"linux", "amd64"}) {
			continue
		}
		path := put(t, filepath.Join(t.TempDir(), b.program), string(b.text))
		got := out(t, "sh", "-c", "trap '' HUP INT TSTP TERM; exec \"$0\" run -- cat /proc/self/status", path)
		_, after, _ := strings.Cut(got, "SigIgn:\t")
		field, _, _ := strings.Cut(after, "\n")
		const ignored = 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1) | 1<<(syscall.SIGTSTP-1) // not TERM: Go handles it
		if got, err := strconv.ParseUint(field, 16, 64); err != nil || got&ignored != ignored {
			t.Errorf("the command of %s has SigIgn %q, want at least %x; %v", b.name(), field, ignored, err)
		}
	}
}

// TestSignature: openssl and cosign accept the signatures, and refuse those of something else.
func TestSignature(t *testing.T) {
	b := released(t)
	cosign := kubebuild.Command(t, "cosign")
	at := func(name string) string { return filepath.Join(b.dir, name) }
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(read(t, at(sumsFile+".sig")))))
	if err != nil {
		t.Fatal(err)
	}
	signature := put(t, filepath.Join(t.TempDir(), "sig"), string(raw))
	for _, c := range []struct {
		file string
		ok   bool
	}{{sumsFile, true}, {sbomFile, false}} {
		for _, args := range [][]string{
			{"openssl", "dgst", "-sha256", "-verify", at("snug.pub"), "-signature", signature, at(c.file)},
			{cosign, "verify-blob", "--key", at("snug.pub"), "--signature", at(sumsFile + ".sig"), "--insecure-ignore-tlog", at(c.file)},
		} {
			if r := try(t, "", nil, args...); (r.code == 0) != c.ok {
				t.Errorf("%s: %+v", strings.Join(args, " "), r)
			}
		}
	}
	for _, c := range []struct {
		file string
		ok   bool
	}{{"snug_0.1.0_linux_arm64.tar.gz", true}, {"snug-0.1.0.tgz", true}, {"snug.pub", false}} {
		r := try(t, "", nil, cosign, "verify-blob-attestation", "--key", at("snug.pub"), "--signature", at(provenanceFile), "--type", "slsaprovenance1",
			"--insecure-ignore-tlog", at(c.file))
		if (r.code == 0) != c.ok {
			t.Errorf("provenance of %s: %+v", c.file, r)
		}
	}
}

// TestProvenance: it names every file, and the run that GitHub started.
func TestProvenance(t *testing.T) {
	b := released(t)
	for name, value := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "snug-go/snug", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2",
		"GITHUB_WORKFLOW_REF": "snug-go/snug/.github/workflows/release.yml@refs/tags/v0.1.0",
	} {
		t.Setenv(name, value)
	}
	created, err := theTree(t).time(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := theTree(t).provenance(t.Context(), version, created, b.files, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		Payload    []byte
		Signatures []struct{}
	}
	var s statement
	if err := json.Unmarshal(f.text, &e); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(e.Payload, &s); err != nil || len(e.Signatures) > 0 || len(s.Subject) != len(b.files) {
		t.Errorf("%d signatures, %d subjects, %v", len(e.Signatures), len(s.Subject), err)
	}
	d := s.Predicate.Details
	if d.Builder["id"] != "https://github.com/snug-go/snug/.github/workflows/release.yml@refs/tags/v0.1.0" ||
		d.Metadata["invocationId"] != "https://github.com/snug-go/snug/actions/runs/7/attempts/2" {
		t.Errorf("%+v", d)
	}
}

// checkSBOM checks the requirements of the SPDX specification: identifiers are well formed, unique
// and known where they are used; required fields are set; checksums match the files.
func checkSBOM(t *testing.T, b built) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(read(t, filepath.Join(b.dir, sbomFile))))
	decoder.DisallowUnknownFields()
	var doc spdxDocument
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("after the document: %v", err)
	}
	if doc.Version != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" || doc.ID != "SPDXRef-DOCUMENT" ||
		doc.Creation.Created != "2023-11-14T22:13:20Z" || !strings.HasPrefix(doc.Namespace, "https://") {
		t.Errorf("head of the SBOM: %+v", doc)
	}
	valid := regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`)
	ids := map[string]bool{doc.ID: true}
	add := func(id string) {
		if !valid.MatchString(id) || ids[id] {
			t.Errorf("identifier %q is malformed or used twice", id)
		}
		ids[id] = true
	}
	for _, p := range doc.Packages {
		add(p.ID)
		if p.Name == "" || p.VersionInfo == "" || p.DownloadLocation == "" || p.LicenseConcluded == "" || len(p.ExternalRefs) != 1 {
			t.Errorf("package %+v lacks something", p)
		}
	}
	for _, f := range doc.Files {
		add(f.ID)
		if !slices.ContainsFunc(b.binaries, func(b binary) bool { return slices.Contains(f.Checksums, spdxChecksum{"SHA256", b.sum()}) }) {
			t.Errorf("%s: no program has the checksums %v", f.Name, f.Checksums)
		}
	}
	if len(doc.Files) != len(b.binaries) {
		t.Errorf("the SBOM lists %d programs of %d", len(doc.Files), len(b.binaries))
	}
	linked := map[string]bool{}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("relationship %+v names an unknown element", r)
		}
		linked[r.Related] = true
	}
	for _, p := range doc.Packages {
		if !linked[p.ID] {
			t.Errorf("package %s is not in relation to anything", p.Name)
		}
	}
}
