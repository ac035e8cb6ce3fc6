// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/limits"
)

// TestOOMKilled: the counter of the group of a process that has ended, in both hierarchies.
func TestOOMKilled(t *testing.T) {
	for name, text := range map[string]string{
		"memory.events":      "low 0\nhigh 0\nmax 12\noom 3\noom_kill 3\noom_group_kill 0\n",
		"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := func(kills int64) *limits.Limits {
			l := &limits.Limits{}
			l.Memory.HardSource.File = filepath.Join(dir, "memory.max")
			l.Memory.Events.OOMKills = limits.Value[int64]{N: kills, State: limits.Known}
			return l
		}
		if now := oomKilled(before(2)); now == nil || now.Memory.Events.OOMKills.N != 3 {
			t.Errorf("%s: %+v", name, now)
		}
		shared := before(2)
		shared.Memory.HardShared = true
		for why, l := range map[string]*limits.Limits{"no kill since": before(3), "a limit above": shared, "no limits": nil, "kills unknown": {}} {
			if now := oomKilled(l); now != nil {
				t.Errorf("%s, %s: %+v", name, why, now)
			}
		}
		os.RemoveAll(dir)
		if now := oomKilled(before(2)); now != nil {
			t.Errorf("%s, group gone: %+v", name, now)
		}
	}
}
