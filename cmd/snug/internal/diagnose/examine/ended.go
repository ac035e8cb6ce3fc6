// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/snug-go/snug/limits"
)

// oomKilled returns the limits of a process that has ended, with the OOM kills of now, if its group had one
// since they were read; else nil. The group's files outlive its processes until it is removed; where the limit is set
// above the process's own group, the counter may be of others.
func oomKilled(before *limits.Limits) *limits.Limits {
	if before == nil {
		return nil
	}
	m := &before.Memory
	was, ok := m.Events.OOMKills.Get()
	if !ok || m.HardShared || m.HardSource.File == "" {
		return nil
	}
	dir := filepath.Dir(m.HardSource.File)
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(value, 10, 64)
			if key == "oom_kill" && err == nil && n > was {
				now := *before
				now.Memory.Events.OOMKills.N = n
				return &now
			}
		}
	}
	return nil
}
