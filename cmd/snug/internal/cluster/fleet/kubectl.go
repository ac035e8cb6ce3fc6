// SPDX-License-Identifier: Apache-2.0

// Package fleet asks all agents of a cluster what they have seen, through kubectl, which has the
// credentials, and sums it up by workload.
package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Kubectl runs kubectl of PATH.
type Kubectl struct {
	Flags []string // of all its commands, such as --context=x
}

const (
	// commandTimeout bounds a command of kubectl, startTimeout the start of its proxy.
	commandTimeout, startTimeout = time.Minute, 15 * time.Second
	// maxList bounds a list in bytes.
	maxList = 256 << 20
)

// agentLabels select the pods of the agents, as the chart labels them.
const agentLabels = "app.kubernetes.io/name=snug,app.kubernetes.io/component=agent"

// Agent is the pod of an agent.
type Agent struct {
	Namespace, Pod, Node string
	Port                 int
	TLS                  bool
	Why                  finding.Why // why it cannot be asked
}

// podList is the part of a list of pods that is read.
type podList struct {
	Items []struct {
		Metadata struct{ Namespace, Name, UID string }
		Spec     struct {
			NodeName   string
			Containers []struct {
				Ports []struct {
					Name          string
					ContainerPort int
				}
				ReadinessProbe struct{ HTTPGet struct{ Scheme string } }
			}
		}
		Status struct{ Phase string }
	}
}

// Agents lists the agents of the cluster.
func (k *Kubectl) Agents(ctx context.Context) ([]Agent, error) {
	var list podList
	out, err := k.run(ctx, "get", "pods", "--all-namespaces", "--selector="+agentLabels, "--output=json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, message.Failed("kubectl get gives no JSON: "+err.Error(), "kubectl version")
	}
	var all []Agent
	for _, p := range list.Items {
		a := Agent{Namespace: p.Metadata.Namespace, Pod: p.Metadata.Name, Node: p.Spec.NodeName}
		for _, c := range p.Spec.Containers {
			for _, port := range c.Ports {
				if port.Name == "metrics" && a.Port == 0 {
					a.Port, a.TLS = port.ContainerPort, c.ReadinessProbe.HTTPGet.Scheme == "HTTPS"
				}
			}
		}
		switch {
		case p.Status.Phase != "Running":
			a.Why = finding.Why{Code: finding.SilentPod, Detail: strings.ToLower(p.Status.Phase)}
		case a.Port == 0:
			a.Why.Code = finding.SilentNoPort
		case a.TLS:
			a.Why.Code = finding.SilentToken
		}
		all = append(all, a)
	}
	return all, nil
}

// Selected returns the UIDs of the pods that a label selector selects.
func (k *Kubectl) Selected(ctx context.Context, selector string) (map[string]bool, error) {
	out, err := k.run(ctx, "get", "pods", "--all-namespaces", "--selector="+selector,
		"--output=jsonpath={range .items[*]}{.metadata.uid}{\"\\n\"}{end}")
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, uid := range strings.Fields(string(out)) {
		all[uid] = true
	}
	return all, nil
}

// run returns the output of a command.
func (k *Kubectl) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, commandTimeout)
	defer stop()
	cmd := exec.CommandContext(ctx, "kubectl", append(args, k.Flags...)...)
	cmd.WaitDelay = time.Second
	out, said := &limited{max: maxList}, &limited{max: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Run(); err != nil {
		return nil, failure(err, said.String())
	}
	if out.over {
		return nil, message.Failed("kubectl "+args[0]+" gives too much", "")
	}
	return out.Bytes(), nil
}

// failure returns the error of a command of kubectl and of what it said.
func failure(err error, said string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return message.Failed("there is no kubectl in PATH", "install kubectl, or add its folder to PATH")
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if text := lines[len(lines)-1]; text != "" {
		return message.Failed("kubectl: "+message.Clean(text), "kubectl get pods --all-namespaces has to work")
	}
	return message.Failed("kubectl: "+err.Error(), "kubectl get pods --all-namespaces has to work")
}

// limited keeps what is written, up to max bytes.
type limited struct {
	bytes.Buffer
	max  int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.max {
		l.over = true
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// answers are the only paths that the proxy passes on.
const answers = `^/api/v1/namespaces/[^/]+/pods/[^/]+/proxy/(findings|needs)$`

// Proxy starts `kubectl proxy`, which adds the credentials, on a socket that only this user can open. It
// returns a client and the address for it. Call stop at the end.
func (k *Kubectl) Proxy(ctx context.Context) (client *http.Client, address string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "snug-")
	if err != nil {
		return nil, "", nil, message.Failed("no temporary folder: "+message.Reason(err), "set TMPDIR")
	}
	ctx, cancel := context.WithCancel(ctx)
	args := []string{"proxy", "--accept-paths=" + answers, "--reject-methods=^(POST|PUT|PATCH|DELETE)$"}
	socket := filepath.Join(dir, "socket")
	if runtime.GOOS == "windows" { // kubectl has no socket there
		args = append(args, "--address=127.0.0.1", "--port=0")
	} else {
		args = append(args, "--unix-socket="+socket)
	}
	cmd := exec.CommandContext(ctx, "kubectl", append(args, k.Flags...)...)
	cmd.WaitDelay = time.Second
	said := &limited{max: 64 << 10}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		os.RemoveAll(dir)
		return nil, "", nil, failure(err, "")
	}
	stop = func() {
		cancel()
		_ = cmd.Wait()
		os.RemoveAll(dir)
	}
	first := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(out, 4096)).ReadString('\n')
		first <- line
	}()
	var line string
	select {
	case line = <-first:
	case <-time.After(startTimeout):
	case <-ctx.Done():
	}
	_, at, started := strings.Cut(strings.TrimSpace(line), "Starting to serve on ")
	if !started {
		why := context.Cause(ctx)
		stop()
		if why == nil {
			why = errors.New("its proxy does not start")
		}
		return nil, "", nil, failure(why, said.String())
	}
	transport := &http.Transport{MaxIdleConnsPerHost: maxAsked, MaxResponseHeaderBytes: 64 << 10}
	if runtime.GOOS != "windows" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
		at = "localhost" // kubectl accepts no other name
	}
	return &http.Client{Transport: transport, Timeout: answerTimeout}, "http://" + at, stop, nil
}

// path returns the path of a document of an agent behind the API server.
func (a *Agent) path(document string) string {
	return fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/proxy/%s", a.Namespace, a.Pod+":"+strconv.Itoa(a.Port), document)
}
