// SPDX-License-Identifier: Apache-2.0

// Package policy renders admission policies from a small configuration. With them an API
// server gives pods what package podpatch decides, and warns of values that no Go program can
// use. The package returns text and applies nothing.
package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/internal/plan"
)

// Labels of pods and namespaces, and their values.
const (
	InjectLabel = podpatch.Prefix + "inject" // of a pod or its namespace: enabled or disabled
	// ProcsLabel is of a pod: enabled = its programs do not follow their CPU limit, disabled = they do.
	ProcsLabel   = podpatch.Prefix + "gomaxprocs"
	RestartLabel = podpatch.Prefix + "restart-on-resize" // of a pod: enabled = a resize may restart its containers
	// PolicyLabel is on everything rendered; its value is the name of the configuration.
	PolicyLabel = podpatch.Prefix + "policy"
	// AddedAnnotation lists what a pod was given, and why.
	AddedAnnotation = podpatch.Prefix + "added"
	// ObservedAnnotation lists what a pod would have been given, and why, in the same words.
	ObservedAnnotation = podpatch.Prefix + "observed"
	// SkippedAnnotation says why a pod that is opted in was given nothing.
	SkippedAnnotation = podpatch.Prefix + "skipped"

	Enabled, Disabled = "enabled", "disabled"
)

// Default is the default configuration, with its comments.
//
//go:embed default.yaml
var Default string

// Config is a configuration.
type Config struct {
	Name    string
	Observe bool // only annotate pods with what they would be given
	All     bool // all pods that are not opted out; false = pods that are opted in

	Memory        plan.Memory // a share of the limit; the zero Memory is the default
	Round         plan.Round
	MinProcs      int     // 0 = package plan's
	RequestFactor float64 // Ps per requested core without a limit; 0 = no GOMAXPROCS
	OverEnvFrom   bool    // containers with an envFrom are given variables too

	Namespaces, Containers []string // names that are excluded

	Check  Action
	Resize Action
}

// Action says what happens to an object that breaks a rule.
type Action string

const (
	Off  Action = "off"
	Warn Action = "warn"
	Deny Action = "deny"
)

// Wrong is a mistake in a configuration.
type Wrong struct {
	Line       int
	What, Hint string
	Manifest   bool // the text is an object of Kubernetes, not a configuration
}

func (w *Wrong) Error() string { return w.What }

// MaxText bounds a configuration, in bytes.
const MaxText = 1 << 20

// Parse reads a configuration. Errors are of type *Wrong.
func Parse(r io.Reader) (Config, error) {
	text, err := bounded.ReadAll(r, MaxText)
	if err != nil {
		hint := "a configuration has a dozen lines; snug cluster policy --init prints one"
		return Config{}, &Wrong{What: err.Error(), Hint: hint}
	}
	c, err := parse([]byte(Default), Config{})
	if err != nil {
		return c, err
	}
	return parse(text, c)
}

// parse applies a text to a configuration.
func parse(text []byte, c Config) (Config, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return c, nil // empty, or only comments
	case err != nil:
		return c, broken(err)
	}
	err := each(doc.Content[0], "", func(key string, n *yaml.Node) error { return c.set(key, n) })
	if w := (*Wrong)(nil); errors.As(err, &w) && w.Manifest {
		return c, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return c, &Wrong{Line: doc.Line, What: "more than one document", Hint: "one configuration in each file"}
	}
	return c, err
}

// yamlLine matches the line in an error of the YAML reader.
var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

func broken(err error) error {
	w := &Wrong{What: "invalid YAML", Hint: "snug cluster policy --init prints a configuration to start from"}
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		w.Line, _ = strconv.Atoi(m[1])
		w.What += ": " + text[len(m[0]):]
	}
	return w
}

// keys are all keys, in the order of Default.
var keys = []string{
	"name", "mode", "inject", "memory", "round", "minProcs", "requestFactor", "envFrom", "exclude", "check", "resize",
}

// each calls set for the keys of a mapping.
func each(n *yaml.Node, within string, set func(string, *yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		what := "not a mapping of keys to values"
		if within != "" {
			what = strings.TrimSuffix(within, ".") + ": " + what
		}
		return &Wrong{Line: n.Line, What: what, Hint: "snug cluster policy --init prints a configuration to start from"}
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if seen[k.Value] {
			return &Wrong{Line: k.Line, What: within + k.Value + ": set twice", Hint: "set it once"}
		}
		seen[k.Value] = true
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if err := set(k.Value, v); err != nil {
			w := err.(*Wrong)
			if w.Line == 0 {
				w.Line = v.Line
			}
			return w
		}
	}
	return nil
}

func (c *Config) set(key string, n *yaml.Node) error {
	if key == "exclude" {
		return each(n, "exclude.", c.exclude)
	}
	if !slices.Contains(keys, key) {
		return &Wrong{
			What: quoted(key) + ": unknown key", Hint: "the keys are " + strings.Join(keys, ", "),
			Manifest: slices.Contains([]string{"apiVersion", "kind", "metadata", "spec"}, key),
		}
	}
	if n.Kind != yaml.ScalarNode {
		return &Wrong{What: key + ": not a single value", Hint: "snug cluster policy --init shows the format"}
	}
	text, ok := n.Value, true
	hint := ""
	switch key {
	case "name":
		hint = "lower case letters, digits and -, at most 40"
		if ok = podpatch.IsName(text) && len(text) <= 40; ok {
			c.Name = text
		}
	case "mode":
		hint = "enforce or observe"
		ok = text == "enforce" || text == "observe"
		c.Observe = text == "observe"
	case "inject":
		hint = "labelled or all"
		ok = text == "labelled" || text == "all"
		c.All = text == "all"
	case "memory":
		hint = "a share of the limit, 90% or 99%-100MiB, or default"
		var m plan.Memory
		if text != "default" {
			m, ok = plan.ParseMemory(text)
		}
		ok = ok && !m.Off && m.Bytes == 0 && (text == "default" || m.Percent >= 1)
		c.Memory = m
	case "round":
		hint = "ceil, floor or nearest"
		c.Round, ok = plan.ParseRound(text)
	case "minProcs":
		hint = plan.Want("SNUG_MIN_PROCS") + ", or default"
		if c.MinProcs = 0; text != "default" {
			c.MinProcs, ok = plan.ParseProcs(text)
		}
	case "requestFactor":
		hint = plan.Want("SNUG_REQUEST_FACTOR") + ", or 0"
		if c.RequestFactor = 0; text != "0" {
			c.RequestFactor, ok = plan.ParseFactor(text)
		}
	case "envFrom":
		hint = "leave or add"
		ok = text == "leave" || text == "add"
		c.OverEnvFrom = text == "add"
	case "check":
		hint = "warn, deny or off"
		c.Check = Action(text)
		ok = c.Check == Warn || c.Check == Deny || c.Check == Off
	case "resize":
		hint = "warn or off"
		c.Resize = Action(text)
		ok = c.Resize == Warn || c.Resize == Off
	}
	if !ok {
		return &Wrong{What: key + " " + quoted(text) + ": wrong value", Hint: "write " + hint}
	}
	return nil
}

func (c *Config) exclude(key string, n *yaml.Node) error {
	to := map[string]*[]string{"namespaces": &c.Namespaces, "containers": &c.Containers}[key]
	if to == nil {
		return &Wrong{What: "exclude." + quoted(key) + ": unknown key", Hint: "the keys are namespaces and containers"}
	}
	if n.Kind != yaml.SequenceNode {
		return &Wrong{What: "exclude." + key + ": not a list", Hint: "write [a, b], or []"}
	}
	*to = []string{}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || !podpatch.IsName(item.Value) {
			what := "exclude." + key + " " + quoted(item.Value) + ": not a name of Kubernetes"
			return &Wrong{Line: item.Line, What: what, Hint: "use lower case letters, digits and -"}
		}
		*to = append(*to, item.Value)
	}
	return nil
}

// quoted returns a text of a file in a form that is safe to show.
func quoted(text string) string {
	if len(text) > 60 {
		text = text[:57] + "..."
	}
	return fmt.Sprintf("%q", text)
}

// Pod holds what decides whether a pod is opted in.
type Pod struct {
	Namespace string
	Labels    map[string]string
	// NamespaceLabels are the labels of its namespace; nil = unknown.
	NamespaceLabels map[string]string
}

// OptedIn reports whether a pod is opted in. known is false if that depends on unknown labels
// of its namespace. A value other than Enabled or Disabled does not opt in.
func (c *Config) OptedIn(p *Pod) (yes, known bool) {
	if slices.Contains(c.Namespaces, p.Namespace) {
		return false, true
	}
	value, ok := p.Labels[InjectLabel]
	known = ok || p.NamespaceLabels != nil
	if !ok {
		value, ok = p.NamespaceLabels[InjectLabel]
	}
	if !ok {
		return c.All, known
	}
	return value == Enabled, known
}

// WrongLabel returns the labels of a pod that are neither Enabled nor Disabled, such as
// "snug.dev/inject=true on the pod"; "" = none. inject is InjectLabel, of the pod or else of
// its namespace, if known; it then opts the pod out. others are the other labels, which are
// then ignored.
func WrongLabel(p *Pod) (inject, others string) {
	wrong := func(labels map[string]string, key, at string) string {
		if value, ok := labels[key]; ok && value != Enabled && value != Disabled {
			return key + "=" + value + " on the " + at
		}
		return ""
	}
	of, at := p.Labels, "pod"
	if _, own := of[InjectLabel]; !own {
		of, at = p.NamespaceLabels, "namespace"
	}
	others = wrong(p.Labels, ProcsLabel, "pod")
	if restart := wrong(p.Labels, RestartLabel, "pod"); restart != "" && others != "" {
		others += ", " + restart
	} else {
		others += restart
	}
	return wrong(of, InjectLabel, at), others
}

// MaxNoted bounds the annotations of a pod, with that of what it is given, in bytes: a pod with more is
// given nothing, as by fit.yaml.tmpl.
const MaxNoted = 262_000

// Decide returns what a container of a pod that is opted in should be given, like the policies.
// It ignores facts.Program: it assumes a Go program, which without ProcsLabel follows its CPU
// limit.
func (c *Config) Decide(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	facts.Program = podpatch.Program{}
	return c.DecideKnowing(p, name, facts)
}

// DecideKnowing is Decide for a caller that may know the program. ProcsLabel wins over
// facts.Program for all containers of the pod: Enabled says that they run Go programs that do
// not follow their CPU limit, Disabled that their Go programs do. An Unknown program is treated
// as in Decide.
func (c *Config) DecideKnowing(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	if slices.Contains(c.Containers, name) {
		return podpatch.Nothing(podpatch.Excluded)
	}
	labelled, follows := p.Labels[ProcsLabel] == Enabled, p.Labels[ProcsLabel] == Disabled
	if state := facts.Program.State; state == podpatch.Unknown || state == podpatch.NotGo && labelled {
		facts.Program = podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: plan.NewestKnown}}
	}
	facts.Program.Go.Blind = facts.Program.Go.Blind || labelled
	facts.Opaque = facts.Opaque && !c.OverEnvFrom
	how := &podpatch.Policy{
		Round: c.Round, MinProcs: c.MinProcs, Memory: c.Memory, RequestFactor: c.RequestFactor,
		Restart: p.Labels[RestartLabel] == Enabled,
	}
	patch := podpatch.Decide(&facts, how)
	if !follows || facts.Program.State != podpatch.IsGo {
		return patch
	}
	// With Disabled, an old Go follows its limit by a library, but whether it supports
	// GOMEMLIMIT still depends on its version.
	facts.Program.Go = plan.Go{Minor: plan.NewestKnown}
	procs, memory := only(podpatch.Decide(&facts, how), "GOMAXPROCS"), only(patch, "GOMEMLIMIT")
	procs.Env, procs.Reasons = slices.Concat(procs.Env, memory.Env), slices.Concat(procs.Reasons, memory.Reasons)
	return procs
}

// only returns the part of a patch about one variable.
func only(p podpatch.Patch, knob string) podpatch.Patch {
	p.Env = slices.DeleteFunc(p.Env, func(e podpatch.Env) bool { return e.Name != knob })
	p.Reasons = slices.DeleteFunc(p.Reasons, func(r podpatch.Reason) bool { return r.Knob != knob })
	return p
}
