// SPDX-License-Identifier: Apache-2.0

// Package vet finds mistakes in source that make a Go program misfit its container:
// calls that override what the runtime reads of it, sizes from the wrong number, values
// that end or mislead a process.
//
// Each mistake is an analyzer of golang.org/x/tools/go/analysis, for `snug vet`, for
// `go vet -vettool` and for linters that import them. The analyzers use no facts: they
// judge a package by its own source, its imports and its go.mod, and report nothing if
// that does not suffice. They ignore test files; those of WithTests do not.
//
// A comment on the line of a finding, or on the line above it, silences it:
//
//	//snug:ignore ID reason
//
// A comment without a reason silences nothing, and is a finding itself.
package vet

import (
	_ "embed"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Text explains each id, in sections of the form
//
//	## ID (vet)
//
//	Title
//
//	Paragraphs of text.
//
//go:embed checks.md
var Text string

// Check is one kind of finding. An analyzer has one or a few.
type Check struct {
	ID       string // the Category of its diagnostics; stable
	Severity string // "info", "warning" or "error"
	Analyzer string // its Name; "" if only `snug vet` of other files than Go's reports it
}

// GoLineOld is the id of a go line by which programs do not read the CPU quota. Other findings depend on
// it.
const GoLineOld = "go-line-old"

// Ids of findings that Knob returns, and others that several files need.
const (
	idMalformedMemLimit = "gomemlimit-malformed"
	idTinyMemLimit      = "gomemlimit-tiny"
	idHugeMemLimit      = "gomemlimit-huge"
	idMalformedGOGC     = "gogc-malformed"
	idZeroGOGC          = "gogc-zero"
	idMalformedProcs    = "gomaxprocs-malformed"
	idDebugValue        = "godebug-harmful"
	idNoQuota           = "godebug-no-quota"
	idUnboundedHeap     = "gc-off-unbounded"
	idBadIgnore         = "ignore-without-reason"
)

var checks = []Check{
	{"gomaxprocs-numcpu", "warning", "gomaxprocs"},
	{"gomaxprocs-constant", "info", "gomaxprocs"},
	{"gomaxprocs-frozen", "warning", "gomaxprocs"},
	{"pool-numcpu", "warning", "poolsize"},
	{"pool-at-start", "info", "poolsize"},
	{"automaxprocs-pins", "info", "automaxprocs"},
	{"automemlimit-once", "info", "automemlimit"},
	{GoLineOld, "info", "goline"},
	{idUnboundedHeap, "warning", "gcpercent"},
	{"gcpercent-read", "warning", "gcpercent"},
	{idZeroGOGC, "warning", "gcpercent"},
	{"memstats-loop", "warning", "memstats"},
	{"memstats-handler", "info", "memstats"},
	{"setenv-too-late", "warning", "goenv"},
	{idMalformedMemLimit, "error", "goenv"},
	{idTinyMemLimit, "warning", "goenv"},
	{idHugeMemLimit, "warning", "goenv"},
	{idMalformedGOGC, "warning", "goenv"},
	{idMalformedProcs, "warning", "goenv"},
	{idDebugValue, "warning", "goenv"},
	{idNoQuota, "info", "goenv"},
	{"gogc-off-alone", "warning", ""},
	{"ballast", "warning", "ballast"},
	{"finalizer-tuner", "warning", "gctuner"},
	{"init-order", "warning", "initorder"},
	{"init-order-unknown", "info", "initorder"},
	{idBadIgnore, "warning", "snugignore"},
}

// Checks returns all checks, grouped by analyzer.
func Checks() []Check { return slices.Clone(checks) }

// Severity returns the severity of a check: info, warning or error; warning for an unknown
// ID.
func Severity(id string) string {
	for _, c := range checks {
		if c.ID == id {
			return c.Severity
		}
	}
	return "warning"
}

// Analyzers returns all analyzers, always in the same order.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		gomaxprocsAnalyzer, poolAnalyzer, automaxprocsAnalyzer, automemlimitAnalyzer, golineAnalyzer,
		gcpercentAnalyzer, memstatsAnalyzer, goenvAnalyzer, ballastAnalyzer, tunerAnalyzer, initorderAnalyzer, ignoreAnalyzer,
	}
}

// WithTests returns the same analyzers for packages that are loaded with their test files, which they
// then judge too.
func WithTests() []*analysis.Analyzer {
	all := Analyzers()
	for i, a := range all {
		copied := *a
		copied.Requires = []*analysis.Analyzer{testAnalyzer}
		all[i] = &copied
	}
	return all
}
