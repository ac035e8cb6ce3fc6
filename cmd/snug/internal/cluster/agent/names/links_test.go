// SPDX-License-Identifier: Apache-2.0

package names

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLinks: containers have the names of the kubelet's links, also those that come later.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	link := func(name string) {
		t.Helper()
		// As in the agent's pod, where the logs are not mounted.
		if err := os.Symlink("/var/log/pods/nowhere", filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	id := strings.Repeat("0a", 32)
	link("web-5d4f7c9b6d-x7k2p_shop_app-side-" + id + ".log")
	for _, odd := range []string{
		"no.log", "_shop_app-" + id + ".log", "web__app-" + id + ".log", "web_shop_-" + id + ".log", "web_shop_app-" + id, "web_shop_app-abc.log",
		"web_shop_app-" + strings.Repeat("Z", 64) + ".log", "a_b_c_d-" + id + ".log", "web_shop_" + strings.Repeat("0b", 32) + ".log",
	} {
		link(odd)
	}
	n, err := NewLinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := n.Lookup("uid", id); !ok || got != (Named{Namespace: "shop", Pod: "web-5d4f7c9b6d-x7k2p", Container: "app-side", Workload: "Deployment/web"}) || len(n.known) != 1 {
		t.Errorf("%+v, %t, %d known", got, ok, len(n.known))
	}
	later := strings.Repeat("0c", 32)
	if _, ok := n.Lookup("uid", later); ok {
		t.Error("a name for nothing")
	}
	link("db-0_shop_postgres-" + later + ".log")
	n.next = time.Time{}
	if got, ok := n.Lookup("", later); !ok || got.Pod != "db-0" || got.Workload != "" {
		t.Errorf("%+v, %t", got, ok)
	}
	// A folder that is gone for a while takes no names away.
	if err := os.Rename(dir, dir+"-"); err != nil {
		t.Fatal(err)
	}
	n.next = time.Time{}
	if _, ok := n.Lookup("", later); !ok {
		t.Error("the names are gone with the folder")
	}
	if _, err := NewLinks(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if n, err := NewLinks(t.TempDir()); err != nil || len(n.known) != 0 {
		t.Errorf("an empty folder: %v", err)
	}
}
