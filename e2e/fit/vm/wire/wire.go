// SPDX-License-Identifier: Apache-2.0

// Package wire defines the messages between the host and the guest's first process. The job is a
// file in the initial file system. Results are one JSON object per line, on a serial port that is
// not the console.
package wire

// Hierarchy names the cgroup file systems that the guest mounts.
type Hierarchy string

const (
	V2 Hierarchy = "v2" // cgroup2 at /sys/fs/cgroup
	V1 Hierarchy = "v1" // one cgroup file system per controller below /sys/fs/cgroup, and cgroup2 without them at unified
)

// JobFile is the path of the Job in the guest.
const JobFile = "/job.json"

// FirstLine is the console's first line: the guest's first process runs.
const FirstLine = "snug-vm: first line"

// LastLine starts the console's last line; the guest's exit code follows it.
const LastLine = "snug-vm: last line, exit code "

// Job is the work of one boot.
type Job struct {
	Hierarchy Hierarchy
	Results   string // device for the results
	Steps     []Step
}

// Step is one program that runs in groups made for it, which are removed afterwards.
type Step struct {
	// Name identifies the step in the results.
	Name string
	// Cgroup maps a group's path below /sys/fs/cgroup ("/a/b", with V1 "/cpu/a") to its files and
	// their text. Groups are made outermost first. Files are written in the order of their names
	// and read back: the kernel's text must start with the text written.
	Cgroup map[string]map[string]string
	// In lists the groups that the program runs in: one with V2, one per hierarchy with V1. Empty =
	// the root. They need not be in Cgroup.
	In []string
	// Private gives the program its own process, mount and cgroup namespaces, as container engines
	// do. The cgroup namespace is rooted in its group, and proc and the cgroup file systems are
	// mounted afresh.
	Private bool
	// Binds are mounts, {from, to}, that only the program sees: from is mounted on to as well, which is
	// made if it is missing; without from, to is unmounted. They are made in this order, after the
	// program has entered its groups.
	Binds [][2]string
	Args  []string // Args[0] is the program's path in the guest
	Env   []string // the complete environment, NAME=value
	Dir   string   // working directory; "" = /
	Uid   int      // user and group id
	// After lists files (paths below /sys/fs/cgroup) to read after the program has ended and before
	// its groups are removed.
	After []string
	// Seconds is the time limit; 0 = 60. Then the program gets SIGQUIT, and SIGKILL ten seconds
	// later.
	Seconds int
}

// Result is the result of one Step.
type Result struct {
	Name   string
	Exit   int    // exit code; -1 if a signal ended the program or it never started
	Signal string // the signal that ended it; "" = none
	Stdout string
	Stderr string
	// Seconds is the duration of the step, including making its groups.
	Seconds float64
	// After holds the contents of the files named in Step.After.
	After map[string]string
	// Left names the groups that the program left behind, as paths below /sys/fs/cgroup, with the
	// processes in them.
	Left []string
	// Err says why the step failed: a group could not be made, the kernel did not accept a value, a
	// timeout. The rest of the Result is then meaningless.
	Err string
}
