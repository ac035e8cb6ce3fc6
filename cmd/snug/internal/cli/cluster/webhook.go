// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	library "github.com/snug-go/snug"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/webhook"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// webhookOptions are the flags of snug cluster webhook.
type webhookOptions struct {
	config, certFile, keyFile                 flagvalue.Text
	listen, health                            string
	namespace, service, secret, configuration flagvalue.Text
	url, facts                                flagvalue.Text
	agents                                    *learned.Agents
	api                                       rest.Server
	certLife, drain                           time.Duration
	register                                  bool
}

const (
	// certLife is the validity of a certificate, which is renewed after two thirds of it.
	certLife = 90 * 24 * time.Hour
	// minCertLife leaves time to give API servers the next certificate.
	minCertLife = 10 * time.Second
	// webhookDrain is longer than API servers take to notice that a pod is no longer an
	// endpoint of its service.
	webhookDrain = 5 * time.Second
	// webhookService is the default of --service.
	webhookService = "snug-webhook"
)

// kubeName matches a DNS name, as most objects have.
var kubeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// hostPort matches the address in --url, which is written into YAML.
var hostPort = regexp.MustCompile(`^([-.A-Za-z0-9]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?$`)

func NewWebhook(u *ui.UI) *cobra.Command {
	o := webhookOptions{listen: ":9443", health: ":9465", service: webhookService, secret: "snug-webhook",
		facts: "snug-facts", certLife: certLife, drain: webhookDrain}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Serve an admission webhook that gives new pods their GOMEMLIMIT",
		Long: `Serve an admission webhook that gives new pods the variables that Go programs in them need
to fit. It reads the configuration of snug cluster policy and decides like the policies; it is for
clusters before Kubernetes 1.36. It never changes a value that is set, and never refuses a
pod.

It issues its own certificate, stores it in a Secret that all replicas share, renews it, and
writes its CA into the webhook configuration. With --cert-file and --key-file you provide the
certificate; snug then leaves the configuration alone.

By default it assumes that every program is built by Go 1.26 or later, like the policies,
unless the label snug.dev/gomaxprocs=enabled says otherwise. With --agents it asks snug cluster agent
on the nodes every minute which programs run in containers of the same workload, and decides
by that if the label is neither enabled nor disabled. It keeps what it has learned in a
ConfigMap for all replicas.

  --health serves /healthz, /readyz and /metrics`,
		Example: `  snug cluster webhook --register --namespace snug | kubectl apply -f -
  snug cluster webhook --config snug.yaml
  snug cluster webhook --agents snug-agent.snug.svc:9464
  snug cluster webhook --cert-file tls.crt --key-file tls.key`,
		Args: usage.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if (o.certFile == "") != (o.keyFile == "") {
				return message.Usage("--cert-file or --key-file alone", "give both")
			}
			if o.certLife < minCertLife {
				return message.Usage("--cert-life "+o.certLife.String()+": wrong value", "write "+minCertLife.String()+" or more")
			}
			if o.drain < 0 || o.drain > time.Minute {
				return message.Usage("--drain "+o.drain.String()+": wrong value", "write up to a minute")
			}
			if at, err := url.Parse(string(o.url)); o.url != "" &&
				(err != nil || at.Scheme != "https" || !hostPort.MatchString(at.Host) || at.User != nil ||
					at.RawQuery+at.Fragment+strings.TrimSuffix(at.Path, "/") != "") {
				return message.Usage("--url "+message.Typed(string(o.url))+": wrong value", "write https://host:port")
			}
			for _, name := range []flagvalue.Text{o.namespace, o.service, o.secret, o.configuration, o.facts} {
				if name != "" && (len(name) > 253 || !kubeName.MatchString(string(name))) {
					return message.Usage(message.Typed(string(name))+": not a name of Kubernetes",
						"use lower case letters, digits, - and dots")
				}
			}
			var args []string
			if o.config != "" {
				args = []string{string(o.config)}
			}
			c, err := readPolicy(u.In, args)
			if err != nil {
				return err
			}
			if o.namespace == "" {
				o.namespace = flagvalue.Text(rest.Namespace())
			}
			if o.register {
				return registerWebhook(u, &c, &o)
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			return runWebhook(u, ctx, &c, &o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&o.config, "config", "read the configuration from `FILE` or - (snug cluster policy --init prints one)")
	flags.BoolVar(&o.register, "register", false,
		"print the manifest that registers the webhook with an API server, and exit")
	flags.StringVar(&o.listen, "listen", o.listen, "serve API servers at `ADDRESS`, with TLS")
	flags.StringVar(&o.health, "health", o.health, "serve kubelets and Prometheus at `ADDRESS`")
	flags.Var(&o.namespace, "namespace", "`NAME` of the webhook's own namespace (default that of its pod)")
	flags.Var(&o.service, "service", "API servers reach it through the service `NAME`")
	flags.Var(&o.url, "url", "API servers reach it at `URL`, without a service")
	flags.Var(&o.configuration, "configuration",
		"`NAME` of the webhook configuration (default the name in --config plus -webhook)")
	flags.Var(&o.secret, "secret", "store the certificate in the Secret `NAME`")
	flags.Var((*flagvalue.Span)(&o.certLife), "cert-life", "issue certificates that are valid for `DURATION`")
	flags.Lookup("cert-life").DefValue = "2160h, 90 days"
	flags.Var(&o.certFile, "cert-file", "use the certificate in `FILE`, which you renew")
	flags.Var(&o.keyFile, "key-file", "use the key in `FILE`")
	flagvalue.Define(flags, "agents",
		"ask snug cluster agent at `HOST:PORT`, every address of HOST, which programs containers run",
		"the name of a headless service and a port, such as snug-agent.snug.svc:9464", learned.ParseAgents, &o.agents)
	flags.Var(&o.facts, "facts", "store what is learned in the ConfigMap `NAME`")
	flags.Var((*flagvalue.Span)(&o.drain), "drain", "keep serving for `DURATION` after SIGTERM")
	flags.Var((*flagvalue.Text)(&o.api.URL), "api-url", "`URL` of the API server (default that of its pod)")
	flags.Var((*flagvalue.Text)(&o.api.TokenFile), "api-token-file",
		"use the token in `FILE` for the API server (default that of its pod)")
	flags.Var((*flagvalue.Text)(&o.api.CAFile), "api-ca-file",
		"use the CA in `FILE` for the API server (default that of its pod)")
	return cmd
}

func registerWebhook(u *ui.UI, c *policy.Config, o *webhookOptions) error {
	if o.namespace == "" && o.url == "" {
		return message.Usage("--register without --namespace", "name the namespace that the webhook's service is in")
	}
	return u.Write([]byte(webhook.Register(c, o.registered(c), webhook.Place{
		Namespace: string(o.namespace), Service: string(o.service), URL: strings.TrimSuffix(string(o.url), "/"),
	})))
}

// runWebhook serves until ctx ends.
func runWebhook(u *ui.UI, ctx context.Context, c *policy.Config, o *webhookOptions) error {
	reviewer := &review.Reviewer{Config: c}
	opts := webhook.Options{Reviewer: reviewer, Drain: o.drain, Note: func(text string) { u.Note("warning: %s", text) }}
	trying := func(text string) { trouble(u, text, o) }
	var background []func(context.Context) // run as long as the webhook
	var client *rest.Client
	if o.certFile == "" || o.agents != nil {
		var err error
		if client, err = o.client(u); err != nil {
			return err
		}
	}
	if o.certFile != "" {
		files := &cert.Files{Cert: string(o.certFile), Key: string(o.keyFile)}
		if _, err := files.GetCertificate(nil); err != nil {
			return unreadable(err, string(o.certFile), string(o.keyFile))
		}
		opts.Certificate = files.GetCertificate
		opts.More = append(opts.More, webhook.ValidUntil(files.Until))
	} else {
		keeper := &cert.Keeper{Store: webhook.NewSecret(client, string(o.namespace), string(o.secret), o.registered(c)),
			Names: []string{o.host()}, Life: o.certLife, Note: trying}
		opts.Certificate, opts.Ready = keeper.GetCertificate, keeper.Ready
		opts.More = append(opts.More, webhook.ValidUntil(keeper.Until))
		background = append(background, func(ctx context.Context) {
			webhook.Repeat(ctx, keeper.Every(), trying, keeper.Keep)
		})
	}
	if o.agents != nil {
		keeper := &learned.Keeper{Agents: o.agents, Store: webhook.NewConfigMap(client, string(o.namespace), string(o.facts)),
			Note: trying}
		reviewer.Program = func(s review.Subject) podpatch.Program {
			return keeper.Facts().Program(s.Namespace, s.Workload, s.Container, s.Image)
		}
		opts.More = append(opts.More, webhook.Learned(keeper))
		background = append(background, func(ctx context.Context) {
			webhook.Repeat(ctx, learned.Every, trying, keeper.Keep)
		})
	}
	var listeners [2]net.Listener
	for i, at := range [][2]string{{"--listen", o.listen}, {"--health", o.health}} {
		l, err := listen(ctx, at[0], at[1])
		if err != nil {
			return err
		}
		defer l.Close()
		listeners[i] = l
	}
	// snug does not set its own GOMAXPROCS and GOMEMLIMIT; see package main.
	if _, err := library.Watch(ctx, library.WatchOptions{}); err != nil {
		return err
	}
	// These end after the last answer, not when ctx ends.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	for _, run := range background {
		group.Go(func() { run(running) })
	}
	defer group.Wait()
	defer stop()
	u.Note("listening on %s, and for kubelets and Prometheus on %s", listeners[0].Addr(), listeners[1].Addr())
	return webhook.New(opts).Serve(ctx, listeners[0], listeners[1])
}

// trouble notes a failure that is retried, with a hint if one is known.
func trouble(u *ui.UI, text string, o *webhookOptions) {
	for _, line := range strings.Split(text, "\n") {
		u.Note("warning: %s", line)
	}
	for _, known := range []struct{ sign, hint string }{
		{": 401 ", "the API server rejects the token: check the pod's ServiceAccount, or --api-token-file"},
		{": 403 ", "a Role has to permit it; the chart has one"},
		{"there is no webhook configuration", o.registering() + " | kubectl apply -f -"},
		{": 404 namespaces", "kubectl create namespace " + string(o.namespace)},
	} {
		if strings.Contains(text, known.sign) {
			u.Note("hint: %s", known.hint)
			return
		}
	}
}

// registered returns the name of the webhook configuration.
func (o *webhookOptions) registered(c *policy.Config) string {
	return cmp.Or(string(o.configuration), c.Name+"-webhook")
}

// registering returns the command that registers this webhook.
func (o *webhookOptions) registering() string {
	words := []string{"snug", "cluster", "webhook", "--register", "--namespace", cmp.Or(string(o.namespace), "NAME")}
	config := o.config
	if config == "-" {
		config = "FILE" // stdin has been read
	}
	for _, flag := range []struct {
		name         string
		value, usual flagvalue.Text
	}{{"--config", config, ""}, {"--configuration", o.configuration, ""}, {"--service", o.service,
		webhookService}, {"--url", o.url, ""}} {
		if flag.value != "" && flag.value != flag.usual {
			words = append(words, flag.name, string(flag.value))
		}
	}
	for i, word := range words {
		words[i] = message.Quote(word)
	}
	return strings.Join(words, " ")
}

// host returns the name by which API servers reach the webhook.
func (o *webhookOptions) host() string {
	if at, err := url.Parse(string(o.url)); err == nil && at.Host != "" {
		return at.Hostname()
	}
	return string(o.service) + "." + string(o.namespace) + ".svc"
}

// client returns a client of the API server.
func (o *webhookOptions) client(u *ui.UI) (*rest.Client, error) {
	if o.namespace == "" {
		return nil, message.Usage("the webhook's namespace is unknown",
			"name it with --namespace, or run the webhook in a pod")
	}
	client, err := rest.New(o.api, u.Getenv)
	var path *os.PathError
	switch {
	case err == nil:
		return client, nil
	case errors.Is(err, rest.ErrNotInPod):
		return nil, message.Usage(err.Error(),
			"run it in a pod, or name the API server with --api-url, --api-token-file and --api-ca-file, or a certificate "+
				"with --cert-file")
	case errors.As(err, &path):
		return nil, message.Failed("cannot read "+message.Typed(path.Path)+": "+message.Reason(err),
			"a pod has it unless automountServiceAccountToken is false; name another with --api-ca-file")
	}
	return nil, message.Failed(err.Error(), "name the API server with --api-url and --api-ca-file")
}
