// SPDX-License-Identifier: Apache-2.0

package matrix

// Unset is the value of a knob or limit that is not set. It is what the runtime reports for an
// unset GOMEMLIMIT.
const Unset int64 = 1<<63 - 1

const mib = 1 << 20

// Procs holds GOMAXPROCS on machines with 2, 4 and 24 CPUs.
type Procs [3]int

var columns = [3]int{2, 4, 24}

// Level is one cgroup. A field that is empty or 0 keeps the kernel's default.
type Level struct {
	CPU    string // quota and period in microseconds, "150000 100000"; "max" for no quota
	Memory int64  // memory.max in bytes
	High   int64  // memory.high in bytes; v2 only
	CPUs   string // cpuset.cpus
}

// Situation is a container's limits and the expected results. The numbers were worked out by hand,
// not by running the code under test.
type Situation struct {
	Name    string
	Levels  []Level // outermost first; the program runs in the last
	MinCPUs int     // needs a machine with this many CPUs or more
	OnlyV2  bool    // v1 cannot express it
	Alike   bool    // differs from another situation only in its numbers

	Quota float64 // tightest quota in cores; 0 = none
	Hard  int64   // tightest memory limit in bytes; 0 = none
	Soft  int64   // the same including memory.high; 0 = Hard

	Runtime Procs // GOMAXPROCS of the runtime since Go 1.25, from the innermost level
	Crash   bool  // that runtime crashes before main instead
	Snug    Procs
	One     bool  // with SNUG_MIN_PROCS=1, snug sets GOMAXPROCS to 1
	Memory  int64 // GOMEMLIMIT that snug sets; 0 = left unset

	// The knobs that automaxprocs 1.6 (GOMAXPROCS, for a quota at the innermost level) and
	// automemlimit 1.0 (bytes) set; 0 = unset.
	PeerProcs  int
	PeerMemory int64
}

// all is Runtime or Snug of a situation without CPU limits.
var all Procs = columns

// table lists the situations of all machines.
var table = []Situation{
	{Name: "no limits", Levels: []Level{{}}, Runtime: all, Snug: all},
	{Name: "quota max", Alike: true, Levels: []Level{{CPU: "max"}}, Runtime: all, Snug: all},
	{
		Name: "quota 0.05", Alike: true, Levels: []Level{{CPU: "5000 100000"}}, Quota: 0.05,
		Runtime: Procs{2, 2, 2}, Snug: Procs{1, 1, 1}, One: true, PeerProcs: 1,
	},
	{
		Name: "quota 0.5", Alike: true, Levels: []Level{{CPU: "50000 100000"}}, Quota: 0.5,
		Runtime: Procs{2, 2, 2}, Snug: Procs{1, 1, 1}, One: true, PeerProcs: 1,
	},
	{
		Name: "quota 1", Levels: []Level{{CPU: "100000 100000"}}, Quota: 1,
		Runtime: Procs{2, 2, 2}, Snug: Procs{2, 2, 2}, One: true, PeerProcs: 1,
	},
	{
		Name: "quota 1.5 of a short period", Levels: []Level{{CPU: "30000 20000"}}, Quota: 1.5,
		Runtime: Procs{2, 2, 2}, Snug: Procs{2, 2, 2}, PeerProcs: 1,
	},
	{
		Name: "quota 2", Alike: true, Levels: []Level{{CPU: "200000 100000"}}, Quota: 2,
		Runtime: Procs{2, 2, 2}, Snug: Procs{2, 2, 2}, PeerProcs: 2,
	},
	{
		Name: "quota 2.5", Levels: []Level{{CPU: "250000 100000"}}, Quota: 2.5,
		Runtime: Procs{2, 3, 3}, Snug: Procs{2, 3, 3}, PeerProcs: 2,
	},
	{
		Name: "quota 20", Alike: true, Levels: []Level{{CPU: "2000000 100000"}}, Quota: 20,
		Runtime: Procs{2, 4, 20}, Snug: Procs{2, 4, 20}, PeerProcs: 20,
	},
	{
		Name: "quota of the parent only", Levels: []Level{{CPU: "150000 100000"}, {CPU: "max"}}, Quota: 1.5,
		Runtime: all, Snug: Procs{2, 2, 2},
	},
	{
		Name: "quota 1 of the parent only", Levels: []Level{{CPU: "100000 100000"}, {}}, Quota: 1,
		Runtime: all, Snug: Procs{2, 2, 2}, One: true,
	},
	{
		Name: "quota of the grandparent only", Alike: true, Levels: []Level{{CPU: "250000 100000"}, {}, {CPU: "max"}}, Quota: 2.5,
		Runtime: all, Snug: Procs{2, 3, 3},
	},
	{
		// The kernel refuses a child's quota above its parent's in v1.
		Name: "quota 4 below a parent with 2", Levels: []Level{{CPU: "200000 100000"}, {CPU: "400000 100000"}}, OnlyV2: true, Quota: 2,
		Runtime: Procs{2, 4, 4}, Snug: Procs{2, 2, 2}, PeerProcs: 4,
	},
	{
		Name: "quota 1 below a parent with 3", Alike: true, Levels: []Level{{CPU: "300000 100000"}, {CPU: "100000 100000"}}, Quota: 1,
		Runtime: Procs{2, 2, 2}, Snug: Procs{2, 2, 2}, One: true, PeerProcs: 1,
	},
	{
		Name: "one CPU of the machine", Levels: []Level{{CPUs: "0"}},
		Runtime: Procs{1, 1, 1}, Snug: Procs{1, 1, 1},
	},
	{
		Name: "three CPUs of the machine", Levels: []Level{{CPUs: "0-2"}}, MinCPUs: 4,
		Runtime: Procs{0, 3, 3}, Snug: Procs{0, 3, 3},
	},
	{
		Name: "one CPU and quota 1.5", Alike: true, Levels: []Level{{CPUs: "1", CPU: "150000 100000"}}, Quota: 1.5,
		Runtime: Procs{1, 1, 1}, Snug: Procs{1, 1, 1}, PeerProcs: 1,
	},
	{
		Name: "CPUs of the parent", Alike: true, Levels: []Level{{CPUs: "0,2"}, {}}, MinCPUs: 4,
		Runtime: Procs{0, 2, 2}, Snug: Procs{0, 2, 2},
	},
	{
		// The largest quota that the kernel accepts, with the shortest period.
		Name: "largest quota", Levels: []Level{{CPU: largest}}, Quota: 17592186044.415,
		Runtime: all, Crash: true, Snug: all,
	},
	{
		Name: "largest quota of the parent", Levels: []Level{{CPU: largest}, {CPU: "max"}}, Quota: 17592186044.415,
		Runtime: all, Snug: all,
	},
	{
		Name: "memory 512 MiB", Alike: true, Levels: []Level{{Memory: 512 * mib}}, Hard: 512 * mib,
		Runtime: all, Snug: all, Memory: 483183821, PeerMemory: 483183820,
	},
	{
		// A tenth would be less than 8 MiB.
		Name: "memory 72 MiB", Levels: []Level{{Memory: 72 * mib}}, Hard: 72 * mib,
		Runtime: all, Snug: all, Memory: 64 * mib, PeerMemory: 67947724,
	},
	{
		Name: "memory 64 MiB", Alike: true, Levels: []Level{{Memory: 64 * mib}}, Hard: 64 * mib,
		Runtime: all, Snug: all, Memory: 56 * mib, PeerMemory: 60397977,
	},
	{
		Name: "memory too small to steer by", Alike: true, Levels: []Level{{Memory: 48 * mib}}, Hard: 48 * mib,
		Runtime: all, Snug: all, PeerMemory: 45298483,
	},
	{
		Name: "memory of the parent", Levels: []Level{{Memory: 256 * mib}, {Memory: 512 * mib}}, Hard: 256 * mib,
		Runtime: all, Snug: all, Memory: 241591911, PeerMemory: 241591910,
	},
	{
		Name: "memory high below max", Levels: []Level{{Memory: 512 * mib, High: 400 * mib}}, OnlyV2: true, Hard: 512 * mib, Soft: 400 * mib,
		Runtime: all, Snug: all, Memory: 377487360, PeerMemory: 483183820,
	},
	{
		Name: "memory high alone", Levels: []Level{{High: 400 * mib}}, OnlyV2: true, Soft: 400 * mib,
		Runtime: all, Snug: all, Memory: 377487360,
	},
	{
		Name:   "quota and memory at different levels",
		Levels: []Level{{CPU: "350000 100000", Memory: 512 * mib}, {CPU: "150000 100000"}, {Memory: 1024 * mib}},
		Quota:  1.5, Hard: 512 * mib,
		Runtime: all, Snug: Procs{2, 2, 2}, Memory: 483183821, PeerMemory: 483183820,
	},
}

// largest is 2^44 - 1 microseconds, the kernel's largest quota (kernel/sched/core.c,
// max_cfs_runtime), with the shortest period.
const largest = "17592186044415 1000"
