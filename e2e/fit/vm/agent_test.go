// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"testing"

	"github.com/snug-go/snug/e2e/cluster/agent"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestAgent runs the agent's tests on cgroup v2; e2e/cluster/agent runs them on v1.
func TestAgent(t *testing.T) {
	gate.Need(t, "vm")
	agent.OnV2(t, v2, files(t, nil)[guestPath("snug")])
}
