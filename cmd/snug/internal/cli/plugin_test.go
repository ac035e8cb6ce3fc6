// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// TestPlugin: kubectl's plug-in has the commands of snug, each once; ps, top, doctor and size are about the cluster.
func TestPlugin(t *testing.T) {
	u := &ui.UI{Getenv: os.Getenv}
	seen := map[string]bool{}
	for i, group := range ofCluster() {
		if len(group.Commands) != len(groups[i].Commands) {
			t.Errorf("%s %d commands, not %d", group.Title, len(group.Commands), len(groups[i].Commands))
		}
		for _, command := range group.Commands {
			cmd := command(u)
			if seen[cmd.Name()] {
				t.Errorf("%s twice", cmd.Name())
			}
			seen[cmd.Name()] = true
			switch cmd.Name() {
			case "ps", "top", "doctor", "size":
				if cmd.Flags().Lookup("namespace") == nil {
					t.Errorf("%s knows no namespace", cmd.Name())
				}
			}
		}
	}
}
