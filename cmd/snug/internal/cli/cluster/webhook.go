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

// webhookOptions are the flags of snug webhook.
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
	// certLife is how long a certificate is valid; it is renewed after two thirds of it.
	certLife = 90 * 24 * time.Hour
	// leastCertLife leaves time to tell an API server of the next one.
	leastCertLife = 10 * time.Second
	// webhookDrain is how long API servers take to hear that a pod is no longer an
	// endpoint of its service, and some more.
	webhookDrain = 5 * time.Second
	// webhookService is the webhook's service where --service names no other.
	webhookService = "snug-webhook"
)

// kubeName is a DNS name, as those of most objects are.
var kubeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// hostPort is what --url may name: it is written into YAML.
var hostPort = regexp.MustCompile(`^([-.A-Za-z0-9]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?$`)

func NewWebhook(u *ui.UI) *cobra.Command {
	o := webhookOptions{listen: ":9443", health: ":9465", service: webhookService, secret: "snug-webhook", facts: "snug-facts", certLife: certLife, drain: webhookDrain}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Give pods their GOMEMLIMIT as they are created, as an admission webhook",
		Long: `Answer an API server's questions about pods that are created, and give them what Go
programs in them need to fit. It decides by the configuration of snug policy, and as the
policies do; it is for clusters before Kubernetes 1.36. A value that is there already is
never touched, and no pod is ever refused.

It makes its own certificate, keeps it in a Secret that all replicas share, renews it, and
writes its CA into the webhook configurations. --cert-file and --key-file name a certificate
that somebody else keeps; the configurations are then left alone.

Without more it takes every program for one of Go 1.25 or later, as the policies do, unless
the label snug.dev/gomaxprocs=enabled says otherwise. With --agents it asks snug agent on
the nodes each minute what containers of the same workload turned out to run, and decides
by that where the label says neither enabled nor disabled; what it has learned is kept in a
ConfigMap for all replicas.

  /healthz, /readyz and /metrics are at --health`,
		Example: `  snug webhook --register --namespace snug | kubectl apply -f -
  snug webhook --config snug.yaml
  snug webhook --agents snug-agent.snug.svc:9464
  snug webhook --cert-file tls.crt --key-file tls.key`,
		Args: ui.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			if (o.certFile == "") != (o.keyFile == "") {
				return message.Usage("one of --cert-file and --key-file alone", "give both")
			}
			if o.certLife < leastCertLife {
				return message.Usage("wrong value, --cert-life "+o.certLife.String(), leastCertLife.String()+" is the least")
			}
			if o.drain < 0 || o.drain > time.Minute {
				return message.Usage("wrong value, --drain "+o.drain.String(), "0s is the least, a minute the most")
			}
			if at, err := url.Parse(string(o.url)); o.url != "" && (err != nil || at.Scheme != "https" || !hostPort.MatchString(at.Host) || at.User != nil || at.RawQuery+at.Fragment+strings.TrimSuffix(at.Path, "/") != "") {
				return message.Usage("wrong value, --url "+message.Typed(string(o.url)), "write https://host:port")
			}
			for _, name := range []flagvalue.Text{o.namespace, o.service, o.secret, o.configuration, o.facts} {
				if name != "" && (len(name) > 253 || !kubeName.MatchString(string(name))) {
					return message.Usage("no name, "+message.Typed(string(name)), "names as Kubernetes has them: lower case letters, digits, - and dots")
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
	flags.Var(&o.config, "config", "decide by `FILE`, or - (snug policy --init prints one)")
	flags.BoolVar(&o.register, "register", false, "print what registers the webhook with an API server, and end")
	flags.StringVar(&o.listen, "listen", o.listen, "answer API servers at `ADDRESS`, by TLS")
	flags.StringVar(&o.health, "health", o.health, "answer kubelets and Prometheus at `ADDRESS`")
	flags.Var(&o.namespace, "namespace", "the webhook's own namespace is `NAME` (default that of its pod)")
	flags.Var(&o.service, "service", "API servers reach it by the service `NAME`")
	flags.Var(&o.url, "url", "API servers reach it at `URL`, without a service")
	flags.Var(&o.configuration, "configuration", "the webhook configurations are called `NAME` (default that of --config, and -webhook)")
	flags.Var(&o.secret, "secret", "keep the certificate in the Secret `NAME`")
	flags.Var((*flagvalue.Span)(&o.certLife), "cert-life", "a certificate is valid for so `LONG`")
	flags.Lookup("cert-life").DefValue = "2160h, 90 days"
	flags.Var(&o.certFile, "cert-file", "show the certificate in `FILE`, which others renew")
	flags.Var(&o.keyFile, "key-file", "its key is in `FILE`")
	flagvalue.Define(flags, "agents", "learn which Go containers run from snug agent at `HOST:PORT`, each address of HOST", "the name of a service without an address of its own, and a port, as snug-agent.snug.svc:9464", learned.ParseAgents, &o.agents)
	flags.Var(&o.facts, "facts", "share what is learned in the ConfigMap `NAME`")
	flags.Var((*flagvalue.Span)(&o.drain), "drain", "go on for so `LONG` when told to end")
	flags.Var((*flagvalue.Text)(&o.api.URL), "api-url", "the API server is at `URL` (default that of its pod)")
	flags.Var((*flagvalue.Text)(&o.api.TokenFile), "api-token-file", "the token for it is in `FILE` (default that of its pod)")
	flags.Var((*flagvalue.Text)(&o.api.CAFile), "api-ca-file", "the CA of it is in `FILE` (default that of its pod)")
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

// runWebhook answers until ctx ends.
func runWebhook(u *ui.UI, ctx context.Context, c *policy.Config, o *webhookOptions) error {
	reviewer := &review.Reviewer{Config: c}
	opts := webhook.Options{Reviewer: reviewer, Drain: o.drain, Note: func(text string) { u.Note("warning: %s", text) }}
	trying := func(text string) { trouble(u, text, o) }
	var beside []func(context.Context) // what goes on as long as the webhook does
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
			return message.Failed("cannot read the certificate, "+message.Reason(err)+", "+message.Typed(string(o.certFile), string(o.keyFile)), "both are PEM, and the key is that of the certificate")
		}
		opts.Certificate = files.GetCertificate
		opts.More = append(opts.More, webhook.ValidUntil(files.Until))
	} else {
		keeper := &cert.Keeper{Store: webhook.NewSecret(client, string(o.namespace), string(o.secret), o.registered(c)), Names: []string{o.host()}, Life: o.certLife, Note: trying}
		opts.Certificate, opts.Ready = keeper.GetCertificate, keeper.Ready
		opts.More = append(opts.More, webhook.ValidUntil(keeper.Until))
		beside = append(beside, keeper.Run)
	}
	if o.agents != nil {
		keeper := &learned.Keeper{Agents: o.agents, Store: webhook.NewConfigMap(client, string(o.namespace), string(o.facts)), Note: trying}
		reviewer.Program = func(s review.Subject) podpatch.Program {
			return keeper.Facts().Program(s.Namespace, s.Workload, s.Container, s.Image)
		}
		opts.More = append(opts.More, webhook.Learned(keeper))
		beside = append(beside, keeper.Run)
	}
	var listeners [2]net.Listener
	for i, at := range [][2]string{{"--listen", o.listen}, {"--health", o.health}} {
		l, err := hear(ctx, at[0], at[1])
		if err != nil {
			return err
		}
		defer l.Close()
		listeners[i] = l
	}
	// This program leaves its own GOMAXPROCS and GOMEMLIMIT alone; see package main.
	if _, err := library.Watch(ctx, library.WatchOptions{}); err != nil {
		return err
	}
	// They end after the last answer, not when the end was asked for.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	for _, run := range beside {
		group.Go(func() { run(running) })
	}
	defer group.Wait()
	defer stop()
	u.Note("listening on %s, and for kubelets and Prometheus on %s", listeners[0].Addr(), listeners[1].Addr())
	return webhook.New(opts).Serve(ctx, listeners[0], listeners[1])
}

// trouble says what fails of what is tried again, and what helps where that is known.
func trouble(u *ui.UI, text string, o *webhookOptions) {
	for _, line := range strings.Split(text, "\n") {
		u.Note("warning: %s", line)
	}
	for _, known := range []struct{ sign, hint string }{
		{": 401 ", "the API server does not take the token: the pod's ServiceAccount, or --api-token-file"},
		{": 403 ", "a Role has to allow it; the chart has one"},
		{"there are no webhook configurations", o.registering() + " | kubectl apply -f -"},
		{": 404 namespaces", "kubectl create namespace " + string(o.namespace)},
	} {
		if strings.Contains(text, known.sign) {
			u.Note("hint: %s", known.hint)
			return
		}
	}
}

// registered is what the webhook configurations are called.
func (o *webhookOptions) registered(c *policy.Config) string {
	return cmp.Or(string(o.configuration), c.Name+"-webhook")
}

// registering is the command that registers the same webhook.
func (o *webhookOptions) registering() string {
	words := []string{"snug", "webhook", "--register", "--namespace", cmp.Or(string(o.namespace), "NAME")}
	config := o.config
	if config == "-" {
		config = "FILE" // stdin has been read
	}
	for _, flag := range []struct {
		name         string
		value, usual flagvalue.Text
	}{{"--config", config, ""}, {"--configuration", o.configuration, ""}, {"--service", o.service, webhookService}, {"--url", o.url, ""}} {
		if flag.value != "" && flag.value != flag.usual {
			words = append(words, flag.name, string(flag.value))
		}
	}
	for i, word := range words {
		words[i] = message.Quote(word)
	}
	return strings.Join(words, " ")
}

// host is the name that API servers know the webhook by.
func (o *webhookOptions) host() string {
	if at, err := url.Parse(string(o.url)); err == nil && at.Host != "" {
		return at.Hostname()
	}
	return string(o.service) + "." + string(o.namespace) + ".svc"
}

// client speaks to the API server.
func (o *webhookOptions) client(u *ui.UI) (*rest.Client, error) {
	if o.namespace == "" {
		return nil, message.Usage("the webhook's namespace is not known", "--namespace names it, or run it in a pod")
	}
	client, err := rest.New(o.api, u.Getenv)
	var path *os.PathError
	switch {
	case err == nil:
		return client, nil
	case errors.Is(err, rest.ErrNotInPod):
		return nil, message.Usage(err.Error(), "run it in a pod, or name the API server with --api-url, --api-token-file and --api-ca-file, or a certificate with --cert-file")
	case errors.As(err, &path):
		return nil, message.Failed("cannot read, "+message.Reason(err)+", "+message.Typed(path.Path), "a pod has it unless automountServiceAccountToken is false; --api-ca-file names another")
	}
	return nil, message.Failed(err.Error(), "--api-url and --api-ca-file say how to speak to the API server")
}
