// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// TestLab: a server is the release that was asked for, and nothing of it is left.
func TestLab(t *testing.T) {
	gate.Need(t, "kube")
	var l *Lab
	t.Run("a server", func(t *testing.T) {
		l = Start(t)
		if a := Must(t, l.Get(t, "/version")); a.Object["gitVersion"] != kubebuild.Kubernetes.Version {
			t.Errorf("version %v, want %s", a.Object["gitVersion"], kubebuild.Kubernetes.Version)
		}
		if a := l.Get(t, "/api/v1/namespaces/none"); a.OK() || a.Message() != `namespaces "none" not found` {
			t.Errorf("a namespace that is not there: %d %s", a.Code, a.Message())
		}
	})
	for _, p := range []*daemon.Process{l.server, l.etcd} {
		if p.Ended() == nil {
			t.Errorf("%s still runs", p.Name)
		}
		if _, err := os.Stat(filepath.Dir(p.File)); !os.IsNotExist(err) {
			t.Errorf("the directory of %s is still there, %v", p.Name, err)
		}
	}
}

// TestNoServer: who cannot start says why, at once.
func TestNoServer(t *testing.T) {
	gate.Need(t, "kube")
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no flag $1 >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = start(t, dir, broken, etcd, Options{})
	if err == nil || !strings.Contains(err.Error(), "broken ended: exit status 3") || !strings.Contains(err.Error(), "no flag --etcd-servers") {
		t.Errorf("error %v", err)
	}
}
