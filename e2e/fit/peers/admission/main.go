// SPDX-License-Identifier: Apache-2.0

// Admission makes the decisions of `snug webhook` with the webhook server of controller-runtime, in
// the usual way: it decodes the pod into its Go type, changes it, and computes the patch by
// comparing.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/limits"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9443", "answer at `ADDRESS`")
	cert := flag.String("cert-file", "tls.crt", "certificate")
	key := flag.String("key-file", "tls.key", "its key")
	http1 := flag.Bool("http1", false, "offer only HTTP/1.1, as recommended for operators")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	config, err := policy.Parse(strings.NewReader(""))
	if err != nil {
		log.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	host, port, err := net.SplitHostPort(*listen)
	if err != nil {
		log.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		log.Fatal(err)
	}
	server := webhook.NewServer(webhook.Options{
		Host: host, Port: number, CertDir: filepath.Dir(*cert), CertName: filepath.Base(*cert), KeyName: filepath.Base(*key),
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			if *http1 {
				c.NextProtos = []string{"http/1.1"}
			}
		}},
	})
	server.Register("/fit/pod", &webhook.Admission{Handler: &fitter{&config, admission.NewDecoder(scheme)}})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := server.Start(ctx); err != nil {
		log.Fatal(err)
	}
}

// fitter decides like package review.
type fitter struct {
	config  *policy.Config
	decoder admission.Decoder
}

// Handle implements admission.Handler.
func (f *fitter) Handle(_ context.Context, q admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := f.decoder.Decode(q, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	about := policy.Pod{Namespace: q.Namespace, Labels: pod.Labels, NamespaceLabels: map[string]string{}}
	if in, _ := f.config.OptedIn(&about); !in {
		return admission.Allowed("")
	}
	sidecars := 0
	for i := range pod.Spec.InitContainers {
		if always(&pod.Spec.InitContainers[i]) {
			sidecars++
		}
	}
	var given, left []string
	each := func(all []corev1.Container, init bool) {
		for i := range all {
			c := &all[i]
			d := f.config.DecideKnowing(&about, c.Name, facts(pod, c, init, sidecars))
			for _, e := range d.Env {
				v := corev1.EnvVar{Name: e.Name, Value: e.Value}
				if e.Resource != "" {
					v.ValueFrom = &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: e.Resource, Divisor: resource.MustParse("1")}}
				}
				c.Env = append(c.Env, v)
			}
			for _, r := range d.Resize {
				c.ResizePolicy = append(c.ResizePolicy, corev1.ContainerResizePolicy{ResourceName: corev1.ResourceName(r), RestartPolicy: corev1.RestartContainer})
			}
			for _, r := range d.Reasons {
				text, to := c.Name+" "+r.Knob, &left
				for _, e := range d.Env {
					if e.Name == r.Knob {
						if to = &given; e.Value != "" {
							text += "=" + e.Value
						}
					}
				}
				if r.Code != podpatch.RestartOnResize {
					*to = append(*to, text+" ("+r.Code+")")
				}
			}
		}
	}
	each(pod.Spec.Containers, false)
	each(pod.Spec.InitContainers, true)
	key, words := policy.AddedAnnotation, given
	if len(given) == 0 {
		key, words = podpatch.Prefix+"skipped", left
	}
	if len(words) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = strings.Join(words, "; ")
	}
	text, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(q.Object.Raw, text)
}

func always(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// facts returns the facts that the decision on a container needs.
func facts(pod *corev1.Pod, c *corev1.Container, init bool, sidecars int) podpatch.Container {
	amount := func(own, pods corev1.ResourceList, name corev1.ResourceName, in func(*resource.Quantity) int64) limits.Value[int64] {
		q, ok := own[name]
		if !ok {
			q = pods[name]
		}
		if n := in(&q); n > 0 {
			return limits.Of(n)
		}
		return limits.NoLimit[int64]()
	}
	var pods corev1.ResourceList
	if pod.Spec.Resources != nil {
		pods = pod.Spec.Resources.Limits
	}
	f := podpatch.Container{
		CPULimit:    amount(c.Resources.Limits, pods, corev1.ResourceCPU, (*resource.Quantity).MilliValue),
		CPURequest:  amount(c.Resources.Requests, nil, corev1.ResourceCPU, (*resource.Quantity).MilliValue),
		MemoryLimit: amount(c.Resources.Limits, pods, corev1.ResourceMemory, (*resource.Quantity).Value),
		Set:         map[string]bool{}, Opaque: len(c.EnvFrom) > 0, Resize: map[string]string{},
		NoRestart: init && !always(c) || pod.Spec.RestartPolicy == corev1.RestartPolicyNever,
	}
	if _, own := c.Resources.Limits[corev1.ResourceMemory]; !own {
		f.MemoryShared = init && sidecars > 0 || !init && len(pod.Spec.Containers)+sidecars > 1
	}
	for i := range c.Env {
		f.Set[c.Env[i].Name] = true
	}
	for _, r := range c.ResizePolicy {
		f.Resize[string(r.ResourceName)] = string(r.RestartPolicy)
	}
	return f
}
