// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// kubectl: the output of helm template can be applied without Helm. After that kubectl diff is
// empty, even once the webhook has written its data, and all of it can be deleted.
func (l *lab) kubectl(t *testing.T) {
	kubectl := kubebuild.Command(t, "kubectl")
	home := t.TempDir()
	run := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), kubectl, args...)
		cmd.Env = []string{"KUBECONFIG=" + l.kubeconfig, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	manifest := newHelm(t, "helm4", "").template(t, everything)
	run(manifest, "apply", "--validate=strict", "-f", "-")
	l.writeFact(t)
	r := l.webhook(t, documents(t, manifest))
	kept := l.kept(t)
	run(manifest, "diff", "-f", "-")
	run(manifest, "apply", "-f", "-")
	if now := l.kept(t); !reflect.DeepEqual(now, kept) {
		t.Errorf("applied again: the webhook's data has changed: %s", difference("", now, kept))
	}
	l.asRendered(t, documents(t, manifest))
	r.Stop(t)
	run(manifest, "delete", "--wait=false", "-f", "-")
	l.gone(t)
}
