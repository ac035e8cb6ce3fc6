// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/deploy/helm/snug/files"
)

var registration = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files.Templates, "webhook/registration.yaml.tmpl"))
})

// Place is the address of a webhook for API servers.
type Place struct {
	Namespace, Service string
	URL                string // instead of a service: https://host:port
}

// place is a Place with a path, for the template.
type place struct {
	Place
	Path string
}

// Register returns the YAML that registers a webhook with an API server. It excludes the
// webhook's own namespace, so that its pods never wait for the webhook.
func Register(c *policy.Config, configuration string, at Place) string {
	excluded := slices.Clone(c.Namespaces)
	if at.Namespace != "" && !slices.Contains(excluded, at.Namespace) {
		excluded = append(excluded, at.Namespace)
	}
	for i := range excluded {
		excluded[i] = strconv.Quote(excluded[i]) // a name may be 42, or null
	}
	var b strings.Builder
	// The template is embedded, and a test renders all its branches.
	if err := registration().ExecuteTemplate(&b, "registration.yaml.tmpl", map[string]any{
		"Configuration": configuration, "All": c.All, "Excluded": strings.Join(excluded, ", "),
		"InjectLabel": policy.InjectLabel, "Enabled": policy.Enabled,
		"ByPod": place{at, FitByPod}, "ByNamespace": place{at, FitByNamespace},
	}); err != nil {
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
