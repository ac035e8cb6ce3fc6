// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/kube/lint"
	"github.com/snug-go/snug/cmd/snug/internal/kube/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/kube/policy"
)

func newAdmission(u *ui) *cobra.Command {
	engine := string(policy.Kubernetes)
	var begin bool
	var try []string
	cmd := &cobra.Command{
		Use:   "policy [CONFIG]",
		Short: "Make admission policies that give pods their GOMEMLIMIT and warn of wrong values",
		Long: `Print admission policies for an API server, made of a small configuration. They need no
webhook: Kubernetes 1.36 and later, or Kyverno, does what they say.

  NAME-fit     gives the containers of pods that opt in a GOMEMLIMIT below their memory
               limit, and GOMAXPROCS where a label says that the program needs it
  NAME-resize  warns of a resize in place that leaves a variable behind
  NAME-values  warns of values that kill or mislead a Go program

A namespace or a pod opts in with the label snug.dev/inject=enabled. --try says what the
pods of manifests would be given, and why; nothing is applied. It takes limits as they are
written, and those of a LimitRange where one is among the manifests, and the labels of namespaces that
are.`,
		Example: `  snug policy | kubectl apply -f -
  snug policy --init >snug.yaml
  snug policy snug.yaml --try deploy/
  helm template ./chart | snug policy --try -
  snug policy --for kyverno`,
		GroupID: groupCluster,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("more than one configuration, "+typed(args...), "one at a time; --try names manifests")
			}
			if engine != string(policy.Kubernetes) && engine != string(policy.Kyverno) {
				return usage("wrong value, --for "+typed(engine), "write kubernetes or kyverno")
			}
			if begin {
				if len(args) > 0 || len(try) > 0 {
					return usage("--init makes nothing of a configuration", "snug policy --init >snug.yaml")
				}
				return u.write([]byte(policy.Default))
			}
			c, err := readPolicy(u.in, args)
			if err != nil {
				return err
			}
			if len(try) > 0 {
				if slices.Contains(args, "-") && slices.Contains(try, "-") {
					return usage("stdin is named twice, -", "it can be read once")
				}
				return tryPolicy(u, &c, try)
			}
			d := &finding.Policy{Head: finding.NewHead(finding.KindPolicy), Engine: engine, YAML: policy.Render(&c, policy.Engine(engine))}
			if d.Objects, err = yamlObjects(d.YAML); err != nil {
				return err
			}
			return u.answer(d)
		},
	}
	u.jsonFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&engine, "for", engine, "who enforces it, `ENGINE`: kubernetes (1.36 and later) or kyverno (1.18 and later)")
	flags.BoolVar(&begin, "init", false, "print a configuration to begin with, all keys explained")
	flags.StringArrayVar(&try, "try", nil, "say what the pods in `FILE|DIR|-` would be given; can be repeated")
	return cmd
}

// readPolicy reads the configuration; without one the default holds.
func readPolicy(stdin io.Reader, args []string) (policy.Config, error) {
	var from io.Reader = strings.NewReader("")
	name := "the default"
	if len(args) > 0 {
		name = args[0]
		from = stdin
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return policy.Config{}, failed("cannot read, "+reason(err)+", "+typed(name), "snug policy --init prints a configuration to begin with")
			}
			defer f.Close()
			from = f
		}
	}
	c, err := policy.Parse(from)
	var wrong *policy.Wrong
	if errors.As(err, &wrong) {
		at := typed(name)
		if wrong.Line > 0 {
			at += ":" + strconv.Itoa(wrong.Line)
		}
		return c, usage(wrong.What+", "+at, wrong.Hint)
	}
	return c, err
}

// yamlObjects are the documents of a text as JSON has them.
func yamlObjects(text string) ([]any, error) {
	all := []any{}
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o any
		switch err := dec.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, o)
	}
}

// tryPolicy says what the pods of manifests would be given.
func tryPolicy(u *ui, c *policy.Config, inputs []string) error {
	l := newLinter(u, &lintFlags{})
	if err := l.gather(inputs); err != nil {
		return err
	}
	titles := lintTitles()
	d := &finding.Given{Head: finding.NewHead(finding.KindGiven), Inputs: l.inputs, Containers: []finding.GivenContainer{}, Unknown: append([]finding.Gap{}, l.unknown...)}
	d.Unknown = append(d.Unknown, l.problems()...)
	namespaces := namespaceLabels(l.manifests())
	for _, found := range lint.Containers(l.manifests()) {
		d.Containers = append(d.Containers, givenTo(c, &found, namespaces[found.Object.Namespace], titles))
	}
	if err := u.answer(d); err != nil {
		return err
	}
	return unread(d.Unknown)
}

// namespaceLabels are labels of the namespaces that opt in or out in the input, by
// their names. Others may be labelled where they live, so they are not known.
func namespaceLabels(files []*manifest.File) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, f := range files {
		for _, o := range f.Objects {
			if o.Kind != "Namespace" || o.Form != manifest.Kubernetes {
				continue
			}
			if labels := o.Labels(); labels[policy.InjectLabel] != "" {
				all[o.Name] = labels
			}
		}
	}
	return all
}

func givenTo(c *policy.Config, found *lint.Described, namespace, titles map[string]string) finding.GivenContainer {
	pod := policy.Pod{Namespace: found.Object.Namespace, Labels: found.Pod.Labels(), NamespaceLabels: namespace}
	in, known := c.OptedIn(&pod)
	patch := podpatch.Nothing(podpatch.OptedOut)
	if in || !known {
		patch = c.Decide(&pod, found.Container.Name, found.Facts)
	}
	g := finding.GivenContainer{
		File: utf8Only(found.Object.File().Name), Line: found.Container.At().Line, Object: found.Object.Title(),
		Container: found.Container.Name, Role: found.Container.Role.String(), Env: []finding.GivenEnv{}, RestartOn: append([]string{}, patch.Resize...),
	}
	if known {
		g.OptedIn = &in
	}
	for _, e := range patch.Env {
		v := finding.GivenEnv{Name: e.Name}
		if e.Resource != "" {
			v.Resource = &e.Resource
		} else {
			v.Value = &e.Value
		}
		g.Env = append(g.Env, v)
	}
	for _, r := range patch.Reasons {
		g.Reasons = append(g.Reasons, finding.GivenWhy{Knob: r.Knob, Reason: r.Code, Text: titles[r.Code]})
	}
	return g
}
