// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"os"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	cartUID = "0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"
	sum     = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// allNamed returns the same names for every container.
type allNamed struct{}

func (allNamed) Lookup(string, string) (names.Named, bool) {
	return names.Named{Namespace: "shop", Pod: "cart-1", Container: "app"}, true
}

// TestOthersRemember: a container in which a Go process has run for settledAfter is never
// listed as one without Go, until it ends; nor is one while a process in it has Go in a library.
func TestOthersRemember(t *testing.T) {
	const group = "0::/kubepods/burstable/pod" + cartUID + "/" + sum + "\n"
	for _, c := range []struct {
		name  string
		scans []string // what is in the container: a shell, Go, Go that has just started, a library of Go
		want  int
	}{
		{"a shell", []string{"s", "s"}, 1},
		{"Go, then a shell", []string{"g", "s"}, 0},
		{"both, then Go, then a shell", []string{"sg", "g", "s"}, 0},
		{"Go all the time, then a shell", []string{"g", "g", "g", "s"}, 0},
		{"both, then a shell", []string{"sg", "s", "s"}, 0},
		{"a probe", []string{"sy", "s"}, 1},
		{"a probe right now", []string{"s", "s", "sy"}, 0},
		{"a probe, and Go at some time", []string{"g", "s", "sy", "s"}, 0},
		{"a library", []string{"s", "l", "l"}, 0},
		{"a shell beside a library", []string{"l", "ls"}, 0},
		{"a library that was there", []string{"ls", "s"}, 1},
		{"all of it new", []string{"g", "", "s"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &Scanner{opts: Options{Names: allNamed{}}, named: true, bystanders: map[string]*bystander{}, unplaced: -1, settledAfter: settledAfter}
			s := a
			at := podid.Parse(group)
			k := keyOfPlace(at)
			var got int
			for _, there := range c.scans {
				s.tick++
				members := map[string][]*process{}
				for _, one := range there {
					switch one {
					case 'g':
						p := &process{group: group, in: newGroup(group, 1)}
						p.last.Go = &goproc.Facts{Stat: proc.Stat{Started: time.Now().Add(-settledAfter)}}
						members[k] = []*process{p}
					case 'y':
						p := &process{group: group, in: newGroup(group, 1)}
						p.last.Go = &goproc.Facts{Stat: proc.Stat{Started: time.Now().Add(-settledAfter / 2)}}
						members[k] = []*process{p}
					case 's', 'l':
						b := s.bystander(at)
						b.settled = true
						o := other{in: b}
						if one == 'l' {
							o.beside = &finding.Unsupported{}
						}
						s.notePresent(os.Getpid(), &o, false)
					}
				}
				got = len(a.withoutGo(members, time.Now()))
			}
			if got != c.want {
				t.Errorf("%d are listed, want %d", got, c.want)
			}
			s.tick++
			a.withoutGo(nil, time.Now())
			if len(s.bystanders) > 0 {
				t.Error("it is remembered when it has ended")
			}
		})
	}
}
