// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
	"github.com/snug-go/snug/e2e/internal/prom"
)

// patience bounds a wait.
const patience = 3 * time.Minute

func until(t *testing.T, what string, state func() string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !yes(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s\n%s", patience, what, state())
		}
	}
}

// listens waits until a server logs its address.
func listens(t *testing.T, p *daemon.Process, what *regexp.Regexp) string {
	t.Helper()
	var found []string
	until(t, p.Name+" listens", p.Log, func() bool {
		text, _ := os.ReadFile(p.File)
		found = what.FindStringSubmatch(string(text))
		return found != nil
	})
	return found[1]
}

// lab is an agent, a webhook, and a Prometheus that scrapes both.
type lab struct {
	*prom.Server
	agent, webhook string // addresses of their metrics
	questions      string // the address of the webhook
}

func newLab(t *testing.T, all []*container) *lab {
	t.Helper()
	dir := t.TempDir()
	exe := filepath.Join(dir, "snug")
	if err := programs.BuildTool(programs.Root(t), exe); err != nil {
		t.Fatal(err)
	}
	l := &lab{}
	agent := daemon.Start(t, t.TempDir(), exe, "agent", "--listen", "127.0.0.1:0", "--interval", "1s")
	l.agent = listens(t, agent, regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`))
	crt, key := certificate(t, dir)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	// There is no API server: the webhook cannot share what it learns.
	webhook := daemon.Start(t, t.TempDir(), exe, "webhook", "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0", "--cert-file", crt, "--key-file", key,
		"--namespace", "snug", "--agents", l.agent, "--api-url", "https://127.0.0.1:1", "--api-token-file", token, "--api-ca-file", crt)
	l.webhook = listens(t, webhook, regexp.MustCompile(`and for kubelets and Prometheus on (127\.0\.0\.1:\d+)`))
	l.questions = listens(t, webhook, regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`))
	if err := os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(prom.Hurried(t, read(t, alertsFile), 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Server = prom.Start(t, dir, fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: snug-agent
    honor_labels: true
    static_configs: [{targets: [%q], labels: {instance: node-1, node: node-1}}]
    metric_relabel_configs:
%s  - job_name: snug-webhook
    static_configs: [{targets: [%q], labels: {pod: snug-webhook-0}}]
`, l.agent, named(all), l.webhook))
	return l
}

// certificate makes a self-signed certificate for this machine.
func certificate(t *testing.T, dir string) (crt, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	crt, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{crt: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return crt, key
}

// question is a request about a pod that opts in.
const question = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"shop",
"kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},
"object":{"metadata":{"name":"p","labels":{"snug.dev/inject":"enabled"}},"spec":{"containers":[{"name":"a","image":"x","resources":{"limits":{"memory":"512Mi"}}}]}}}}`

// ask sends the webhook a valid request, and then an invalid one.
func (l *lab) ask(t *testing.T) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for _, text := range []string{question, "{}"} {
		r, err := client.Post("https://"+l.questions+"/fit/pod", "application/json", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Fatal(r.Status)
		}
	}
}

// asked is a query with a result once Prometheus has seen both.
const asked = `rate(snug_webhook_reviews_total{outcome="patched"}[15s]) > 0 and on () rate(snug_webhook_reviews_total{outcome="unreadable"}[15s]) > 0`

// answers waits until do accepts the result of a query, and returns it: a busy machine misses
// scrapes. Queries about the webhook need new requests.
func (l *lab) answers(t *testing.T, query string, do func([]prom.Sample) bool) (got []prom.Sample) {
	t.Helper()
	until(t, query, func() string { return fmt.Sprintf("last: %v", got) }, func() bool {
		if strings.Contains(query, "snug_webhook_") {
			l.ask(t)
		}
		got = l.Query(t, query)
		return do(got)
	})
	return got
}

// some accepts a result that is not empty.
func some(got []prom.Sample) bool { return len(got) > 0 }

// get returns a page.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, r.Status, err)
	}
	return string(text)
}

// firing returns the firing alerts, as "alert pod", for GoStaleAfterResize with its knob.
func (l *lab) firing(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, a := range l.Alerts(t) {
		for name, text := range a.Annotations {
			if strings.Contains(text, "error expanding") || strings.Contains(text, "<no value>") || strings.Contains(text, "%!") {
				t.Errorf("%s: %s: %s", a.Labels["alertname"], name, text)
			}
		}
		if pod := a.Labels["pod"]; a.State == "firing" && a.Labels["namespace"] == "shop" {
			if a.Labels["workload"] != "Deployment/"+pod || a.Labels["container"] != "app" {
				t.Errorf("%v", a.Labels)
			}
			all = append(all, strings.Join(strings.Fields(a.Labels["alertname"]+" "+pod+" "+a.Labels["knob"]), " "))
		}
	}
	slices.Sort(all)
	return all
}

// TestReal: alerts fire and resolve for real programs, all queries of the dashboard and the
// runbooks have results, and every metric that they name exists.
func TestReal(t *testing.T) {
	gate.Root(t, "prometheus")
	all := containers()
	n := startNode(t, all)
	l := newLab(t, all)
	by := map[string]*container{}
	for _, c := range all {
		by[c.name] = c
	}
	state := func() string { return fmt.Sprint(l.firing(t), "\n", l.Query(t, `{namespace="shop"}`)) }
	until(t, "all containers are there", state, func() bool { return len(l.Query(t, `snug_go_container_info{namespace="shop"}`)) == len(all) })
	n.resize(t, by["grown"], 200_000, 256)
	want := []string{"GoGCThrashes thrashes", "GoMemlimitAboveLimit over", "GoProcsAboveQuota above", "GoStaleAfterResize grown GOMAXPROCS", "GoStaleAfterResize grown GOMEMLIMIT"}
	until(t, "the faults fire, and nothing else: "+fmt.Sprint(want), state, func() bool { return slices.Equal(l.firing(t), want) })
	// How much it is throttled varies with the load of the machine.
	until(t, "nothing fires for what is throttled and fits", state, func() bool {
		return len(l.Query(t, `snug_go_container_cpu_throttled_ratio{pod="fits"} > 0.5`)) == 1 && slices.Equal(l.firing(t), want)
	})
	l.answers(t, asked, some)
	t.Run("dashboard", l.dashboard)
	t.Run("runbooks", l.runbooks)
	t.Run("names", l.names)
	t.Run("resolves", func(t *testing.T) {
		by["above"].rest(t)
		n.resize(t, by["grown"], 100_000, 128)
		want := []string{"GoGCThrashes thrashes", "GoMemlimitAboveLimit over"}
		until(t, fmt.Sprint("only ", want), state, func() bool { return slices.Equal(l.firing(t), want) })
	})
}

// dashboard runs every query of the dashboard, for everything and for one pod.
func (l *lab) dashboard(t *testing.T) {
	for _, chosen := range []struct{ name, namespace, workload, pod string }{
		{"all", ".*", ".*", ".*"},
		{"one workload", "shop", "Deployment/above|Deployment/thrashes", ".*"},
		{"one pod", "shop", "Deployment/above", "above"},
		{"none", "nowhere", ".*", ".*"},
	} {
		t.Run(chosen.name, func(t *testing.T) {
			for _, p := range theDashboard(t).flat() {
				for _, q := range p.Targets {
					expr := strings.NewReplacer("$namespace", chosen.namespace, "$workload", chosen.workload, "$pod", chosen.pod, "$__rate_interval", "15s").Replace(q.Expr)
					got := l.Query(t, expr)
					if len(got) == 0 && chosen.name == "all" {
						got = l.answers(t, expr, some)
					}
					for _, s := range got {
						if s.Value == "NaN" && chosen.name == "all" {
							t.Errorf("%s: %v", p.Title, s)
						}
						if pod, ok := s.Labels["pod"]; ok && !regexp.MustCompile("^("+chosen.pod+"|snug-webhook-0)$").MatchString(pod) {
							t.Errorf("%s: %v was not chosen", p.Title, s.Labels)
						}
					}
				}
			}
		})
	}
	for query, want := range map[string]string{ // by title of a panel with one figure
		"Throttled, GOMAXPROCS too high": "1", "Throttled, GOMAXPROCS fits": "0", "Stale after a resize": "0",
	} {
		t.Run(query, func(t *testing.T) {
			for _, p := range theDashboard(t).flat() {
				if p.Title == query {
					expr := strings.NewReplacer("$namespace", "shop", "$workload", "Deployment/above", "$pod", ".*", "$__rate_interval", "15s").Replace(p.Targets[0].Expr)
					l.answers(t, expr, func(got []prom.Sample) bool { return len(got) == 1 && got[0].Value == want })
				}
			}
		})
	}
	for _, v := range theDashboard(t).Templating.List {
		text := fmt.Sprint(v.Query)
		m := regexp.MustCompile(`label_values\((.*), (\w+)\)`).FindStringSubmatch(text)
		if v.Type != "query" {
			continue
		}
		if m == nil {
			t.Errorf("variable %s: %s", v.Name, text)
			continue
		}
		expr := strings.NewReplacer("$namespace", "shop", "$workload", ".*").Replace(m[1])
		if got := l.answers(t, fmt.Sprintf(`count by (%s) (%s)`, m[2], expr), some); got[0].Labels[m[2]] == "" {
			t.Errorf("variable %s: %s: %v", v.Name, expr, got)
		}
	}
}

// about has the pods for the queries of pages; the default is "above".
var about = map[string]string{
	"GoGCThrashes.md": "thrashes", "GoMemlimitAboveLimit.md": "over", "GoStaleAfterResize.md": "grown",
}

// empty has the queries of the pages that may have no result here, and why.
var empty = map[string]string{
	`up{job="snug-agent"} == 0`: "the agent is up",
	`histogram_quantile(0.99, sum by (name, le) (rate(apiserver_admission_webhook_admission_duration_seconds_bucket{name=~".*\\.snug\\.dev"}[10m])))`: "there is no API server",
}

// ofWorkload begins the names of metrics of workloads. There are none here, because the names of pods are the scraper's and
// not the agent's. The tests of snug size --prometheus have them.
const ofWorkload = "snug_go_workload_"

// runbooks runs every query of the pages: each has a result.
func (l *lab) runbooks(t *testing.T) {
	n := 0
	unused := maps.Clone(empty)
	for _, p := range pages(t) {
		for _, line := range p.blocks("promql") {
			query := strings.NewReplacer("$NS", "shop", "$POD", cmp.Or(about[p.name], "above")).Replace(line)
			if _, may := empty[line]; may {
				l.Query(t, query)
				delete(unused, line)
			} else if strings.Contains(line, ofWorkload) {
				l.Query(t, query)
			} else {
				l.answers(t, query, some)
			}
			n++
		}
	}
	if n < 15 {
		t.Errorf("%d queries", n)
	}
	if len(unused) > 0 {
		t.Errorf("on no page: %v", unused)
	}
}

// names checks that every metric in alerts, dashboard and runbooks exists.
func (l *lab) names(t *testing.T) {
	there := map[string]bool{}
	for _, address := range []string{l.agent, l.webhook} {
		for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)[ {]`).FindAllStringSubmatch(get(t, "http://"+address+"/metrics"), -1) {
			there[m[1]] = true
		}
	}
	named := 0
	texts := map[string]string{"alerts.yaml": read(t, alertsFile), "dashboard.json": read(t, dashboardFile)}
	for _, p := range pages(t) {
		texts[p.name] = p.text
	}
	for name, text := range texts {
		for _, metric := range regexp.MustCompile(`\b(snug_(go|agent|webhook)_[a-z_]+|process_[a-z_]+)\b`).FindAllString(text, -1) {
			if named++; !there[metric] && !strings.HasPrefix(metric, ofWorkload) {
				t.Errorf("%s: there is no metric %s", name, metric)
			}
		}
	}
	if named < 100 {
		t.Errorf("%d names", named)
	}
}
