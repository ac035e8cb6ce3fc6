// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/fleet"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// fleetOptions are the arguments and flags of the commands that ask all agents.
type fleetOptions struct {
	names      []string
	namespace  flagvalue.Text
	selector   flagvalue.Text
	context    flagvalue.Text
	kubeconfig flagvalue.Text
	all        bool
	sort       string
	said       bool // which names nothing has
}

// asks is the part of the help that is the same for all of them.
const asks = `It asks the snug agents of the cluster through kubectl, which has the credentials, and the
API server's proxy: you need the rights to list pods and to get pods/proxy where the agents
are. A NAME is that of a workload or a pod, with or without kind and namespace, or that of a row
as it is printed.`

func (o *fleetOptions) add(cmd *cobra.Command) {
	o.addCluster(cmd)
	cmd.Flags().VarP(&o.selector, "selector", "l", "only pods with these `LABELS`, as kubectl get -l")
}

// addCluster adds the flags that say which cluster, and which namespace of it.
func (o *fleetOptions) addCluster(cmd *cobra.Command) {
	cmd.Flags().VarP(&o.namespace, "namespace", "n", "only pods of the namespace `NAME`")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "pods of all namespaces, as without --namespace")
	cmd.Flags().Var(&o.context, "context", "the `CONTEXT` of kubectl")
	cmd.Flags().Var(&o.kubeconfig, "kubeconfig", "the `FILE` of kubectl's configuration")
}

// NewFleetPS returns the command that lists the workloads of a cluster.
func NewFleetPS(u *ui.UI) *cobra.Command {
	o := fleetOptions{}
	cmd := &cobra.Command{
		Use:   "ps [NAME]...",
		Short: "List the Go workloads of a cluster: what they use, what they may use, what is wrong",
		Long: `List the Go workloads of a cluster, a row for each, whatever nodes their pods are on:
"2 to 64" are the least and the largest of its containers. CPUS are those that the
processes may run on, P is GOMAXPROCS, CPU what all of them use together, MEMORY the used
share of the limit.

` + asks,
		Example: `  snug cluster ps
  snug cluster ps -n shop --sort memory
  kubectl snug ps -l app=web`,
		RunE: func(_ *cobra.Command, args []string) error {
			o.names = args
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			d, err := o.look(ctx, u)
			if err != nil {
				return err
			}
			if d.Warns() {
				d.Next = called(u) + " doctor"
			}
			return u.Answer(d)
		},
	}
	o.add(cmd)
	o.sorted(cmd, "finding")
	u.JSONFlag(cmd.Flags())
	return cmd
}

// NewFleetTop returns the command that lists the workloads that use most.
func NewFleetTop(u *ui.UI) *cobra.Command {
	o := fleetOptions{}
	every, number := time.Duration(0), 0
	cmd := &cobra.Command{
		Use:   "top [NAME]...",
		Short: "List the Go workloads of a cluster that use most CPU, once or again and again",
		Long: `List the Go workloads of a cluster, most CPU time first, as of the agents' last scans.
With --interval it does so again and again.

` + asks,
		Example: `  snug cluster top
  snug cluster top --sort throttled
  kubectl snug top --interval 15s`,
		RunE: func(_ *cobra.Command, args []string) error {
			o.names = args
			if every != 0 && (every < time.Second || every > time.Hour) {
				return message.Usage("--interval "+every.String()+": wrong value", "write 1s to an hour")
			}
			if number < 0 {
				return message.Usage("--number: wrong value", "write 1 or more")
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			for i := 1; ; i++ {
				d, err := o.look(ctx, u)
				if err != nil {
					return err
				}
				if i > 1 && !u.JSON {
					if err := u.Write([]byte("\n")); err != nil {
						return err
					}
				}
				if err := u.Answer(d); err != nil || every == 0 || i == number {
					return err
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(every):
				}
			}
		},
	}
	o.add(cmd)
	o.sorted(cmd, "cpu")
	cmd.Flags().Var((*flagvalue.Span)(&every), "interval", "look again every `DURATION`")
	cmd.Flags().IntVar(&number, "number", 0, "end after `N` looks")
	u.JSONFlag(cmd.Flags())
	return cmd
}

// NewFleetDoctor returns the command that says what is wrong in a cluster.
func NewFleetDoctor(u *ui.UI) *cobra.Command {
	var fails usage.FailOn
	o := fleetOptions{sort: "finding"}
	cmd := &cobra.Command{
		Use:   "doctor [NAME]...",
		Short: "Say what is wrong with the Go workloads of a cluster, with the fix",
		Long: `Say what is wrong with the Go workloads of a cluster, worst first, each finding of a
workload once, with the number of its containers, one of them, and the fix for that one.

` + asks + `

It exits with 3 if a finding is at least as severe as --fail-on. An agent that does not
answer is listed, and no reason to fail: "not looked at".`,
		Example: `  snug cluster doctor
  snug cluster doctor Deployment/web
  kubectl snug doctor -n shop --json | jq '.findings[].id'`,
		RunE: func(_ *cobra.Command, args []string) error {
			o.names = args
			least, err := fails.Least()
			if err != nil {
				return err
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			all, err := o.look(ctx, u)
			if err != nil {
				return err
			}
			d := all.Doctor()
			if len(d.Findings) > 0 {
				d.Next = "snug explain " + message.Clean(d.Findings[0].ID)
			}
			if err := u.Answer(d); err != nil {
				return err
			}
			if least != "" && len(d.Findings) > 0 && d.Findings[0].Severity.Level() >= least.Level() {
				return &message.Failure{Code: message.ExitFinding}
			}
			return nil
		},
	}
	o.add(cmd)
	fails.Add(cmd)
	u.JSONFlag(cmd.Flags())
	return cmd
}

// orInterrupted returns the error of a command, which is another one if the user has ended it.
func orInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &message.Failure{Code: message.ExitInterrupted, What: "interrupted"}
	}
	return err
}

// kubectl returns kubectl with its flags.
func (o *fleetOptions) kubectl() *fleet.Kubectl {
	k := &fleet.Kubectl{}
	for name, value := range map[string]flagvalue.Text{"context": o.context, "kubeconfig": o.kubeconfig} {
		if value != "" {
			k.Flags = append(k.Flags, "--"+name+"="+string(value))
		}
	}
	return k
}

func (o *fleetOptions) sorted(cmd *cobra.Command, order string) {
	orders := slices.Sorted(maps.Keys(fleet.Orders))
	cmd.Flags().StringVar(&o.sort, "sort", order, "sort by `ORDER`: "+strings.Join(orders, ", "))
	usage.Complete(cmd, "sort", orders...)
}

// called returns what its users type before ps.
func called(u *ui.UI) string {
	if strings.HasPrefix(u.Program, "kubectl ") {
		return u.Program
	}
	return u.Program + " cluster"
}

// look asks all agents. It fails if there are none, or none answers.
func (o *fleetOptions) look(ctx context.Context, u *ui.UI) (*finding.Fleet, error) {
	if fleet.Orders[o.sort] == nil {
		return nil, message.Usage("--sort "+message.Typed(o.sort)+": wrong value",
			"write "+strings.Join(slices.Sorted(maps.Keys(fleet.Orders)), ", "))
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	k := o.kubectl()
	sum := fleet.Sum{Filter: fleet.Filter{Namespace: string(o.namespace), Names: o.names}}
	at := time.Now()
	if err := orInterrupted(ctx, o.ask(ctx, k, &sum)); err != nil {
		return nil, err
	}
	d := sum.Document(o.sort, at)
	if err := unanswered(d.Agents, d.Silent); err != nil {
		return nil, err
	}
	return d, o.missed(u, sum.Filter.Missed(), d.Containers+len(d.Unsupported), len(d.Silent), "no such Go workload", "ps")
}

// missed says once which names nothing had. Without any rows that is an error.
func (o *fleetOptions) missed(u *ui.UI, names []string, rows, silent int, what, lists string) error {
	if rows == 0 && len(o.names) > 0 {
		return message.Failed(message.Typed(o.names...)+": "+what, called(u)+" "+lists+" lists them")
	}
	if silent > 0 {
		what += " where agents answer"
	}
	if len(names) > 0 && !o.said {
		o.said = true
		u.Note("warning: %s", message.Typed(names...)+": "+what)
	}
	return nil
}

// check returns the error of flags that contradict each other.
func (o *fleetOptions) check() error {
	if o.all && o.namespace != "" {
		return message.Usage("--all-namespaces with --namespace", "leave one out")
	}
	return nil
}

// unanswered returns the error of a cluster in which no agent answers.
func unanswered(agents int, silent []finding.SilentAgent) error {
	switch {
	case agents == 0:
		return message.Failed("no snug agent in this cluster",
			"helm install snug oci://ghcr.io/snug-go/charts/snug --namespace snug --create-namespace starts one on each node")
	case len(silent) == agents:
		one := silent[0]
		return message.Failed("no agent answers: "+cmp.Or(one.Node, one.Pod)+": "+content.Reason(&one.Why), hintFor(one))
	}
	return nil
}

// hintFor returns what helps against the silence of all agents.
func hintFor(s finding.SilentAgent) string {
	namespace, _, _ := strings.Cut(s.Pod, "/")
	switch s.Why.Code {
	case finding.SilentForbidden:
		return "you need the right to get pods/proxy in the namespace " + namespace
	case finding.SilentToken:
		return "snug doctor looks at a pod from a container in it, as docs/cluster.md says"
	}
	return "kubectl --namespace " + namespace + " get pods"
}

// ask adds the answers of all agents to sum.
func (o *fleetOptions) ask(ctx context.Context, k *fleet.Kubectl, sum *fleet.Sum) error {
	agents, err := k.Agents(ctx)
	if err != nil || len(agents) == 0 {
		return err
	}
	if o.selector != "" {
		if sum.Filter.Pods, err = k.Selected(ctx, string(o.selector)); err != nil {
			return err
		}
	}
	return k.Ask(ctx, agents, sum)
}
