// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"testing"

	"github.com/snug-go/snug/e2e/cluster/agent"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestAgent is the agent's test on this node's cgroup v1 (e2e/cluster/agent), on v2.
func TestAgent(t *testing.T) {
	gate.Need(t, "vm")
	agent.OnV2(t, v2, files(t, nil)[guestPath("snug")])
}
