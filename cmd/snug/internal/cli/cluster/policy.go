// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cli/explain"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/linter"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

func NewPolicy(u *ui.UI) *cobra.Command {
	var begin, checks bool
	var try []string
	cmd := &cobra.Command{
		Use:   "policy [CONFIG]",
		Short: "Print admission policies that give pods their GOMEMLIMIT and warn of wrong values",
		Long: `Print admission policies for an API server, from a small configuration. They need no
webhook: Kubernetes 1.36 and later enforces them itself.

  NAME-fit     gives containers of pods that opt in a GOMEMLIMIT below their memory limit,
               and GOMAXPROCS if a label says that the program needs it
  NAME-resize  warns of a resize in place that leaves a variable stale
  NAME-values  warns of values that kill or mislead a Go program

--checks prints only the last two. They change no pod, and Kubernetes 1.30 and later has them.

A namespace or a pod opts in with the label snug.dev/inject=enabled. --try shows what pods
of manifests would be given, and why; it applies nothing. It reads limits from the pods, and
LimitRanges and labels of namespaces if these are among the manifests. If the label of an
unknown namespace decides, it shows the container as if it were opted in.`,
		Example: `  snug cluster policy | kubectl apply -f -
  snug cluster policy --init >snug.yaml
  snug cluster policy --checks | kubectl apply -f -
  snug cluster policy snug.yaml --try deploy/
  helm template ./chart | snug cluster policy --try -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return message.Usage(message.Typed(args...)+": more than one configuration", "name one; --try names manifests")
			}
			if begin {
				if len(args) > 0 || len(try) > 0 || checks || u.JSON {
					return message.Usage("--init uses no configuration, --try, --checks or --json",
						"snug cluster policy --init >snug.yaml")
				}
				return u.Write([]byte(policy.Default))
			}
			c, err := readPolicy(u.In, args)
			if err != nil {
				return err
			}
			if len(try) > 0 {
				if checks {
					return message.Usage("--checks with --try",
						"checks give pods nothing; snug lint looks for the same values and more")
				}
				if slices.Contains(args, "-") && slices.Contains(try, "-") {
					return message.Usage("-: stdin is named twice", "it can be read once")
				}
				return tryPolicy(u, &c, args, try)
			}
			d := &finding.Policy{Head: finding.NewHead(finding.KindPolicy)}
			if d.YAML = policy.Render(&c); checks {
				if d.YAML = policy.Checks(&c); d.YAML == "" {
					return message.Usage("--checks, and the configuration turns them off", "write check: warn or resize: warn in it")
				}
			}
			if d.Objects, err = yamlObjects(d.YAML); err != nil {
				return err
			}
			return u.Answer(d)
		},
	}
	cmd.SetFlagErrorFunc(policyFlagError)
	u.JSONFlag(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&begin, "init", false, "print a configuration to start from, with every key explained")
	flags.BoolVar(&checks, "checks", false, "print only the policies that warn, for Kubernetes 1.30 and later")
	flags.StringArrayVar(&try, "try", nil, "show what the pods in `FILE|DIR|-` would be given; repeatable")
	return cmd
}

// policyFlagError is ui.FlagError with a hint for --for, because snug does not print
// policies for other engines.
func policyFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "for" {
		return message.Usage("--for: unknown flag",
			"policies are for Kubernetes 1.36, with --checks for 1.30; docs/examples/kyverno in the repository has them for "+
				"Kyverno")
	}
	return ui.FlagError(cmd.CommandPath(), cmd.Flags(), err)
}

// readPolicy reads the configuration, or returns the default.
func readPolicy(stdin io.Reader, args []string) (policy.Config, error) {
	var from io.Reader = strings.NewReader("")
	name := "the default"
	if len(args) > 0 {
		name = args[0]
		from = stdin
		if name != "-" {
			text, err := bounded.ReadFile(name, policy.MaxText)
			if err != nil {
				return policy.Config{}, message.Failed("cannot read "+message.Typed(name)+": "+message.Reason(err),
					"snug cluster policy --init prints a configuration to start from")
			}
			from = bytes.NewReader(text)
		}
	}
	c, err := policy.Parse(from)
	var wrong *policy.Wrong
	if errors.As(err, &wrong) {
		at := message.Typed(name)
		if wrong.Line > 0 {
			at += ":" + strconv.Itoa(wrong.Line)
		}
		if wrong.Manifest {
			wrong.Hint = "this is a manifest: snug cluster policy --try " + message.Typed(name)
		}
		return c, message.Usage(at+": "+wrong.What, wrong.Hint)
	}
	return c, err
}

// yamlObjects returns the documents of a YAML text as JSON values.
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

// tryPolicy prints what the pods of manifests would be given.
func tryPolicy(u *ui.UI, c *policy.Config, config, inputs []string) error {
	titles := explain.Titles()
	l := linter.New(linter.Options{In: u.In, Note: u.Note, Titles: titles})
	if err := l.Gather(inputs); err != nil {
		return err
	}
	d := &finding.Given{Head: finding.NewHead(finding.KindGiven), Inputs: l.Inputs, Mode: "enforce", Inject: "labelled",
		Containers: []finding.GivenContainer{}, Unknown: append([]finding.Gap{}, l.Unknown...)}
	if c.Observe {
		d.Mode = "observe"
	}
	if c.All {
		d.Inject = "all"
	}
	d.Unknown = append(d.Unknown, l.Problems()...)
	if err := noManifest(l, len(d.Unknown) > 0); err != nil {
		return err
	}
	namespaces := namespaceLabels(l.Manifests())
	asked := map[[2]string]bool{} // reported, by file and namespace
	label := ""                   // the first namespace to opt in
	all := lint.Containers(l.Manifests())
	full := map[*manifest.Pod]bool{}
	for i := range all {
		if i == 0 || all[i].Pod != all[i-1].Pod {
			full[all[i].Pod] = hasNoRoom(c, all[i:])
		}
	}
	for _, found := range all {
		namespace := found.Object.Namespace
		g := givenTo(c, &found, namespaces[namespace], titles, full[found.Pod])
		d.Containers = append(d.Containers, g)
		if g.OptedIn != nil {
			continue
		}
		if label == "" && len(g.Env) > 0 && !c.All && podpatch.IsName(namespace) {
			label = namespace
		}
		if asked[[2]string{g.File, namespace}] {
			continue
		}
		asked[[2]string{g.File, namespace}] = true
		whose := "its namespace"
		if namespace != "" {
			whose = "the namespace " + finding.UTF8(namespace)
		}
		into := "in"
		if c.All {
			into = "out"
		}
		d.Unknown = append(d.Unknown, finding.Gap{Field: finding.GapOptedIn, File: g.File,
			Why: "whether " + whose + " is opted " + into + ": its label " + policy.InjectLabel + " is not among the manifests"})
	}
	d.Next = tryNext(d, config, label)
	if err := u.Answer(d); err != nil {
		return err
	}
	return linter.Unread(d.Unknown)
}

// noManifest returns an error if an input has no object of Kubernetes. With known, other
// errors explain an input of directories.
func noManifest(l *linter.Linter, known bool) error {
	const hint = "pipe manifests in, or name them: helm template ./chart | snug cluster policy --try -"
	some := false
	for i := range l.Sources {
		s := &l.Sources[i]
		f := s.Manifest
		if f != nil && (f.Found > 0 || len(f.Objects) > 0 || len(f.Problems) > 0) {
			some = true
			continue
		}
		if s.Named {
			name := s.Path
			if name == "-" {
				name = "stdin"
			}
			return message.Failed(name+": no Kubernetes manifest", hint)
		}
	}
	if !some && !known {
		return message.Failed(message.Typed(l.Inputs...)+": no Kubernetes manifest", hint)
	}
	return nil
}

// tryNext returns the command to try next. label is a namespace to opt in, "" = none.
func tryNext(d *finding.Given, config []string, label string) string {
	give := append([]string{"snug", "cluster", "policy"}, config...)
	if i := slices.Index(give, "-"); i >= 0 {
		give[i] = "FILE" // stdin has been read
	}
	why, given, set := "", false, false
	for i := range d.Containers {
		c := &d.Containers[i]
		if len(c.Env) > 0 && (c.OptedIn != nil || label == "") {
			given = true
		}
		if why == "" && len(c.Reasons) > 0 {
			why = c.Reasons[0].Reason
		}
		set = set || slices.ContainsFunc(c.Reasons,
			func(w finding.GivenWhy) bool { return w.Reason == podpatch.EnvSet || w.Reason == podpatch.ProcsPinned })
	}
	switch {
	case given:
		return message.Typed(give...) + " | kubectl apply -f -"
	case label != "":
		return "kubectl label namespace " + label + " " + policy.InjectLabel + "=" + policy.Enabled
	case set && !slices.Contains(d.Inputs, "-"):
		return "snug lint " + message.Typed(d.Inputs...) // to check the value that is set
	case why != "":
		return "snug explain " + why
	}
	return ""
}

// namespaceLabels returns the labels of namespaces in the input that have the inject label,
// by name. Other namespaces may have it in the cluster, so theirs are unknown.
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
