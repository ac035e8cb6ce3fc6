// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const provenanceFile = "provenance.intoto.jsonl"

// The used parts of an in-toto statement with SLSA's provenance. See
// https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
// https://slsa.dev/spec/v1.1/provenance.
type (
	statement struct {
		Type          string     `json:"_type"`
		Subject       []artifact `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     predicate  `json:"predicate"`
	}
	artifact struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	predicate struct {
		Definition definition `json:"buildDefinition"`
		Details    details    `json:"runDetails"`
	}
	definition struct {
		Type     string            `json:"buildType"`
		External map[string]string `json:"externalParameters"`
		Internal map[string]string `json:"internalParameters"`
		Resolved []artifact        `json:"resolvedDependencies"`
	}
	details struct {
		Builder  map[string]string `json:"builder"`
		Metadata map[string]string `json:"metadata,omitempty"`
	}
)

// provenance says from which commit and by which builder the files were made.
func (t tree) provenance(ctx context.Context, version string, created time.Time, files []content, k *key) (content, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, f := range files {
		s.Subject = append(s.Subject, artifact{Name: f.name, Digest: map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(f.text))}})
	}
	source := artifact{URI: "git+https://" + library + "@refs/tags/" + version}
	changed, err := command(ctx, t.root, nil, "git", "status", "--porcelain")
	if err != nil {
		return content{}, err
	}
	// A tree with changes has no digest.
	if changed == "" {
		commit, err := command(ctx, t.root, nil, "git", "rev-parse", "HEAD")
		if err != nil {
			return content{}, err
		}
		source.Digest = map[string]string{"gitCommit": strings.TrimSpace(commit)}
	}
	s.Predicate = predicate{
		Definition: definition{
			Type:     "https://" + library + "/tree/main/e2e/release",
			External: map[string]string{"version": version, "repository": "https://" + library},
			Internal: map[string]string{"toolchain": toolchain, "SOURCE_DATE_EPOCH": fmt.Sprint(created.Unix())},
			Resolved: []artifact{source},
		},
		Details: builder(os.Getenv),
	}
	text, err := json.Marshal(s)
	if err != nil {
		return content{}, err
	}
	text, err = envelope("application/vnd.in-toto+json", text, k)
	return content{provenanceFile, 0o644, text}, err
}

// builder names the workflow and the run of GitHub that this is part of, or else a person's machine.
func builder(getenv func(string) string) details {
	server, repository := getenv("GITHUB_SERVER_URL"), getenv("GITHUB_REPOSITORY")
	if getenv("GITHUB_ACTIONS") != "true" || repository == "" {
		return details{Builder: map[string]string{"id": "https://" + library + "/e2e/release"}}
	}
	return details{
		Builder:  map[string]string{"id": server + "/" + getenv("GITHUB_WORKFLOW_REF")},
		Metadata: map[string]string{"invocationId": server + "/" + repository + "/actions/runs/" + getenv("GITHUB_RUN_ID") + "/attempts/" + getenv("GITHUB_RUN_ATTEMPT")},
	}
}
