// SPDX-License-Identifier: Apache-2.0

//go:build linux

package limits

import (
	_ "embed"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What is remembered between two reads of this process, who can change it meanwhile, and when it is
// read again. The test compares the first column with the fields of a reader, a Follower and a machine;
// those of plan.Input are below.
//
//	fact                                   who changes it                            read again
//	group: /proc/self/cgroup               whoever moves the process                 at every 4th poll
//	cpu, memory, complete: the groups'     the same; whoever mounts in the process's after a move, when a group is gone, and at
//	  directories by the mount table       mount namespace, or enables a controller  every 32nd poll with a figure that is unknown
//	lxcfs: whether MemTotal is lxcfs's     whoever mounts it                         with the mount table
//	meminfo, host, huge                    lxcfs, a balloon, hotplug, the operator   at each poll at which MemTotal is the limit or
//	                                                                                 lxcfs's, else at every 32nd, and when a limit
//	                                                                                 changes
//	ram: the machine's memory, with lxcfs  hotplug, a balloon                        when MemTotal or a limit changes
//	set, cpus, most, lone: CPUs of all     the program, the operator, cpuset,        at each poll; threads whose CPUs came back
//	  threads                              hotplug                                   while others stay pinned at every 32nd
//	cpus before the first read:            nothing: they are those at the start
//	  runtime.NumCPU
//	denied, refused, barred, kept: files,  the program may close them; a sandbox     at each poll; one that was refused four times,
//	  open, refused or missing             refuses them; a controller is enabled     a missing one for ever, after 32 polls each
//	kept: RLIMIT_NOFILE                    the program, prlimit(1)                   never: it bounds what is kept
//	asked, guards: seccomp's filters       the program                               before a file is opened
//	space: what RLIMIT_AS and RLIMIT_DATA  the program and what it maps, prlimit(1)  never: what the program maps later counts
//	  leave                                                                          against GOMEMLIMIT already
//	tightest, unseen, last: results        the above                                 when one of them changes
//	flat: v1's memory.use_hierarchy        nothing, while there are groups below
//
// And for a decision:
//
//	Go.Minor, Blind: the release, GODEBUG  nothing; of another process, exec         never; snug ps and the agent look again
//	Go.Space: the word size                nothing
//	page size                              nothing
//	Env, Hints, Policy: variables          nothing: they are those at the start
//	Now.Live: the live heap                the program                               at every 4th poll while it keeps GOMEMLIMIT
//	                                                                                 from being set
//	Others: processes in the group         the operator                              never: it is for a warning
//
//go:embed facts_test.go
var facts string

// TestFacts: everything that is remembered between two reads is in this table.
func TestFacts(t *testing.T) {
	var words []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z][^:\n]*)`).FindAllStringSubmatch(facts, -1) {
		words = append(words, strings.FieldsFunc(m[1], func(r rune) bool { return r == ' ' || r == ',' })...)
	}
	// Not facts: what is read with, what is counted, and what belongs to a read of another process.
	not := []string{"tree", "buf", "tables", "status", "proc", "pid", "self", "ownStat", "r", "m", "polls", "dir", "fd", "text"}
	for _, v := range []any{reader{}, Follower{}, machine{}} {
		for f := range reflect.TypeOf(v).NumField() {
			if name := reflect.TypeOf(v).Field(f).Name; !slices.Contains(words, name) && !slices.Contains(not, name) {
				t.Errorf("%T.%s is in no row", v, name)
			}
		}
	}
}
