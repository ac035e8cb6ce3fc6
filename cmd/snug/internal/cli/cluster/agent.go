// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/scan"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/guard"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// agentOptions are the flags of snug cluster agent.
type agentOptions struct {
	listen   string
	interval time.Duration
	root     flagvalue.Text
	noMem    bool
	once     bool
	names    string
	auth     bool
	cert     flagvalue.Text
	key      flagvalue.Text
	state    flagvalue.Text
}

const (
	// agentShare bounds the CPU time of scans, as a share of one CPU.
	agentShare = 0.25
	// agentProcs is the agent's own GOMAXPROCS; it mostly waits for the kernel.
	agentProcs = 2
	// minInterval is the shortest interval between scans.
	minInterval = time.Second
)

func NewAgent(u *ui.UI) *cobra.Command {
	o := agentOptions{listen: ":9464", interval: 15 * time.Second}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Watch all Go processes of a node, and serve metrics, findings and a page",
		Long: `Watch all Go processes of a node, by pod and container, and serve what is found:

  /          a page for people
  /findings  the same as JSON
  /metrics   for Prometheus
  /needs     what snug cluster size decides by
  /healthz   200 while scans succeed, else 503

In the JSON document, containers[] lists containers with Go processes, and groups of the
node's own, such as services, which have a unit in place of a pod. other_containers[] lists
the pods' containers without Go; it needs names. unsupported[] lists processes with Go in a
library, and programs of gccgo.

It stops and changes no process, sends nothing to anyone, and shows no command lines or
environments. It needs to see the node's processes (hostPID), user 0 and CAP_SYS_PTRACE, and
no other right. If the node's cgroups are not at /sys/fs/cgroup, --root names the directory
that contains the node's sys/fs/cgroup; processes are always those of /proc.

With --no-mem it does not read the memory of processes. GOMAXPROCS, GOGC and GOMEMLIMIT are
then known only if a variable sets them, heap and collections are unknown, and without
CAP_SYS_PTRACE it sees only processes of its own user.

With --names=node it has the names of pods and containers from the node: from the links to
their logs in var/log/containers below --root. Workloads are then known only of Deployments,
by the names of their pods, and images are not. With --names=api it asks the API server for
the pods of the node NODE_NAME, with workloads and images. Its service account needs the
rights to list and watch pods. Without names it shows a pod's UID and a container's id.
snug cluster webhook needs agents with --names=api.

With --state it keeps what it has seen of workloads in a file of that directory, of less than
a megabyte, so that snug cluster size knows it after a restart. A file there that is not its
own it leaves as it is. Nothing else is written.

With --auth it serves over TLS, and everything but /healthz only to those whom the API server
permits it: they send a token of the cluster, and a ClusterRole permits them to get the path
(nonResourceURLs: /metrics). Its own service account needs the ClusterRole
system:auth-delegator. Without --cert-file clients cannot verify its certificate. snug cluster
webhook cannot ask agents with --auth.`,
		Example: `  snug cluster agent --once
  snug cluster agent --once --json | jq '.containers[].processes[].findings[].id'
  snug cluster agent --listen 127.0.0.1:9464 --interval 30s
  snug cluster agent --root /host`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.interval < minInterval || o.interval > time.Hour {
				return message.Usage("--interval "+o.interval.String()+": wrong value", "write 1s to an hour")
			}
			if u.JSON && !o.once {
				return message.Usage("--json without --once", "a running agent serves the document at /findings")
			}
			if o.state != "" && o.once {
				return message.Usage("--state with --once", "leave one out")
			}
			if info, err := os.Stat(string(o.state)); err == nil && !info.IsDir() {
				return message.Usage(message.Typed(string(o.state))+": --state needs a directory",
					"name a directory for the file, such as /var/lib/snug")
			}
			if (o.cert == "") != (o.key == "") {
				return message.Usage("--cert-file and --key-file belong together", "name both files, or none")
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			return runAgent(u, ctx, &o)
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Lookup("json").Usage = "with --once, print one JSON document"
	cmd.Flags().StringVar(&o.listen, "listen", o.listen, "serve at `ADDRESS`")
	cmd.Flags().Var((*flagvalue.Span)(&o.interval), "interval", "scan again after `DURATION`")
	cmd.Flags().Var(&o.root, "root", "read the node's cgroups in `DIR`/sys/fs/cgroup")
	cmd.Flags().BoolVar(&o.noMem, "no-mem", false, "read no process's memory")
	cmd.Flags().StringVar(&o.names, "names", "none", "names of pods from `WHERE`: none, node, api")
	cmd.Flags().Lookup("names").NoOptDefVal = "api"
	cmd.Flags().BoolVar(&o.auth, "auth", false, "serve over TLS, and only to whom the API server permits it")
	cmd.Flags().Var(&o.cert, "cert-file", "serve over TLS with the certificate in `FILE`, PEM")
	cmd.Flags().Var(&o.key, "key-file", "its key in `FILE`, PEM")
	cmd.Flags().Var(&o.state, "state", "keep what was seen of workloads in a file of `DIR`")
	cmd.Flags().BoolVar(&o.once, "once", false, "scan once, print the result, and exit")
	return cmd
}

// runAgent scans once, or until ctx ends.
func runAgent(u *ui.UI, ctx context.Context, o *agentOptions) error {
	opts := agent.Options{
		Options: scan.Options{
			Interval: o.interval, Files: observe.NewFiles(), Root: string(o.root), Outside: o.noMem, Node: u.Getenv("NODE_NAME"),
			Once: o.once,
		},
		State: string(o.state),
	}
	if !o.once {
		if u.Getenv("GOMEMLIMIT") == "" {
			opts.SetHeap = func(bytes int64) { debug.SetMemoryLimit(bytes) }
		}
		opts.Share, opts.Note = agentShare, func(text string) { u.Note("%s", text) }
	}
	var pods *names.Pods
	switch o.names {
	case "none":
	case "api":
		var err error
		if pods, err = podNames(u, opts.Node, opts.Note); err != nil {
			return err
		}
		opts.Names, opts.Await = pods, pods.Listed()
	case "node":
		dir := filepath.Join("/", string(o.root), names.LinksDir)
		local, err := names.NewLinks(dir)
		if err != nil {
			return message.Failed(message.Typed(dir)+": no names of pods: "+message.Reason(err),
				"mount the node's "+"/"+names.LinksDir+" there, or leave out --names")
		}
		opts.Names = local
	default:
		return message.Usage("--names "+message.Typed(o.names)+": wrong value", "write none, node or api")
	}
	if err := o.guarded(u, &opts); err != nil {
		return err
	}
	a, err := agent.New(opts)
	if err != nil {
		return message.Failed(string(o.root)+": "+message.Reason(err),
			"--root takes a directory with the node's sys/fs/cgroup in it")
	}
	defer a.Close()
	if o.once {
		if pods != nil {
			if err := pods.List(ctx); err != nil && ctx.Err() == nil {
				return message.Failed("no names of pods: "+err.Error(), "without --names, pods are shown by UID")
			}
		}
		d, err := a.Scan(ctx)
		switch {
		case ctx.Err() != nil:
			return &message.Failure{Code: message.ExitInterrupted, What: "interrupted"}
		case errors.Is(err, agent.ErrNotLinux):
			return message.Failed("snug cluster agent needs Linux", "run it on a node")
		case err != nil:
			return examine.Unlisted(err)
		}
		return u.Answer(d)
	}
	if runtime.GOOS != "linux" {
		return message.Failed("snug cluster agent needs Linux", "run it on a node")
	}
	l, err := listen(ctx, "--listen", o.listen)
	if err != nil {
		return err
	}
	if u.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(agentProcs, runtime.GOMAXPROCS(0)))
	}
	u.Note("listening on %s", l.Addr())
	if pods != nil {
		var group sync.WaitGroup
		defer group.Wait()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		group.Go(func() { pods.Run(ctx) })
	}
	return a.Serve(ctx, l)
}

// guarded adds the certificate and the guard of the flags.
func (o *agentOptions) guarded(u *ui.UI, opts *agent.Options) error {
	if o.cert != "" {
		files := &cert.Files{Cert: string(o.cert), Key: string(o.key)}
		if _, err := files.GetCertificate(nil); err != nil {
			return unreadable(err, string(o.cert), string(o.key))
		}
		opts.Certificate = files.GetCertificate
	}
	if !o.auth {
		return nil
	}
	api, err := rest.New(rest.Server{}, u.Getenv)
	if err != nil {
		return message.Failed(err.Error(), "run it in a pod with a service account, or without --auth")
	}
	opts.Guard = guard.New(api, func(text string) { u.Note("warning: %s", text) })
	if opts.Certificate == nil {
		opts.Certificate = cert.Temporary("snug-agent")
	}
	return nil
}

// unreadable returns the error of a certificate that cannot be read.
func unreadable(err error, files ...string) error {
	return message.Failed("cannot read the certificate "+message.Typed(files...)+": "+message.Reason(err),
		"both files have to be PEM, and the key that of the certificate")
}

// podNames returns the names of pods from the API server of the cluster that it runs in.
func podNames(u *ui.UI, node string, note func(string)) (*names.Pods, error) {
	if node == "" {
		return nil, message.Usage("--names=api: NODE_NAME is unset",
			"set NODE_NAME from the downward API: fieldRef spec.nodeName")
	}
	api, err := rest.New(rest.Server{}, u.Getenv)
	if err != nil {
		return nil, message.Failed(err.Error(), "run it in a pod with a service account, or without --names")
	}
	return names.NewPods(api, node, note), nil
}

// listen listens on the address of a flag. An address without a port, which would mean any
// free port, is an error.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	if host, port, err := net.SplitHostPort(address); address == "" || err == nil && port == "" {
		return nil, listenError(flag, address, &net.AddrError{Err: "missing port in address", Addr: host})
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, listenError(flag, address, err)
	}
	return l, nil
}

// listenError returns the error of an address that cannot be listened on.
func listenError(flag, address string, err error) error {
	var wrong *net.AddrError
	var name *net.DNSError
	what, hint := err, "name another address with "+flag
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		what = op.Err
	}
	if errors.As(err, &wrong) || errors.As(err, &name) {
		return message.Usage(flag+" "+message.Typed(address)+": wrong value",
			"write an address and a port, such as :9464 or 127.0.0.1:9464")
	}
	return message.Failed("cannot listen on "+message.Typed(address)+": "+what.Error(), hint)
}
