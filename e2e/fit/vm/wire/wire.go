// SPDX-License-Identifier: Apache-2.0

// Package wire is what the host tells the guest's first process and what it
// hears back. The job travels as a file of the initial file system, results as
// one JSON object per line on a serial port that is not the console's.
package wire

// Hierarchy says which cgroup file systems the guest mounts.
type Hierarchy string

const (
	V2 Hierarchy = "v2" // cgroup2 at /sys/fs/cgroup
	V1 Hierarchy = "v1" // one cgroup file system per controller below /sys/fs/cgroup, and cgroup2 without them at unified
)

// JobFile is where the guest finds its Job.
const JobFile = "/job.json"

// LastLine begins the console's last line; the guest's exit code follows it.
const LastLine = "snug-vm: last line, exit code "

// Job is everything one boot does.
type Job struct {
	Hierarchy Hierarchy
	Results   string // device that results are written to
	Steps     []Step
}

// Step is one program run in groups made for it, which are removed afterwards.
type Step struct {
	// Name is the caller's; results carry it.
	Name string
	// Cgroup maps a group's path below /sys/fs/cgroup ("/a/b", with V1 "/cpu/a")
	// to its files and their text. Groups are made outermost first, files are
	// written in the order of their names, and each is read back: what was
	// written must be the beginning of what the kernel then says.
	Cgroup map[string]map[string]string
	// In are the groups the program runs in: one with V2, one per hierarchy with
	// V1. Empty: the root. They need not be in Cgroup.
	In []string
	// Private puts the program in namespaces of its own for processes, mounts and
	// cgroups, the last rooted in its group, with proc and the cgroup file systems
	// mounted afresh, as container engines do.
	Private bool
	Args    []string // Args[0] is the program's path in the guest
	Env     []string // the whole environment, NAME=value
	Dir     string   // working directory; "" is /
	Uid     int      // user and group id to run as
	// After are files (paths below /sys/fs/cgroup) to read when the program has
	// ended and before its groups are removed.
	After []string
	// Seconds the program may take; 0 is 60. Then it gets SIGQUIT, and is killed ten
	// seconds later.
	Seconds int
}

// Result is what became of one Step.
type Result struct {
	Name   string
	Exit   int    // exit code; -1 when a signal ended it or it was never started
	Signal string // the signal that ended it, "" when none did
	Stdout string
	Stderr string
	// Seconds that the step took, with the making of its groups.
	Seconds float64
	// After holds what the files named in Step.After said.
	After map[string]string
	// Err says why the step could not be carried out as it was written: a group
	// that could not be made, a value the kernel did not take, a timeout. Nothing
	// else in the Result counts then.
	Err string
}
