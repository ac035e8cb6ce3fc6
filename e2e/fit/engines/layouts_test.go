// SPDX-License-Identifier: Apache-2.0

package engines

// layout is one way to mount a container's cgroups.
type layout struct {
	name   string
	engine string // a key of engines
	flags  string // engine options
	setup  string // shell commands run inside first
	// The limits that the kernel enforces: cores and MiB, 0 = none.
	cpu    float64
	memory int
	// parent sets these limits on the parent group. The container's own group then has only a wider
	// memory limit.
	parent bool
	ownCPU float64 // the quota of the container's own group, if the parent's is tighter
	// cpuShown and memoryShown say what the container can read.
	cpuShown, memoryShown shown
	noProc                bool    // without /proc, which a JVM needs to start
	slack                 float64 // cores above the quota that threads may get
	crowded               bool    // the engine's own processes are under the same memory limit
}

// shown is what can be read in a container.
type shown int

const (
	all    shown = iota
	hidden       // nothing: unknown is right too
	own          // only the container's own group, which does not have the tightest limit: its limit is right too
)

// The limits of most layouts, and of parents.
const (
	cores, mebibytes             = 0.2, 100
	parentCores, parentMebibytes = 0.15, 90
)

const (
	mounting = " --cap-add SYS_ADMIN --security-opt seccomp=unconfined"
	tree     = " -v /sys/fs/cgroup:/sys/fs/cgroup:ro"
	beside   = " -v /sys/fs/cgroup:/host:ro"
	// Directories where a container with or without a cgroup namespace would find its groups.
	hollow = "mkdir -p $m/fs/cgroup/cpu $m/fs/cgroup/cpuacct $m/fs/cgroup/memory"
)

// layouts are those of the audit of November 2026, each with a different trait.
var layouts = []layout{
	{name: "runc, private", engine: "runc", flags: "private", cpu: cores, memory: mebibytes},
	{name: "runc, host", engine: "runc", flags: "host", cpu: cores, memory: mebibytes},

	{name: "docker, private", engine: "docker", flags: "--cgroupns private", cpu: cores, memory: mebibytes},
	{name: "docker, host", engine: "docker", flags: "--cgroupns host", cpu: cores, memory: mebibytes},
	{name: "docker, host, the host's tree", engine: "docker", flags: "--cgroupns host" + tree, cpu: cores, memory: mebibytes},
	{name: "docker, private, the host's tree", engine: "docker", flags: "--cgroupns private" + tree, cpu: cores, memory: mebibytes},
	{name: "docker, private, the host's tree beside", engine: "docker", flags: "--cgroupns private" + beside, cpu: cores, memory: mebibytes},

	// v1's memory.stat has the tightest limit of all levels.
	{name: "docker, limits on the parent, private", engine: "docker", flags: "--cgroupns private",
		cpu: parentCores, memory: parentMebibytes, parent: true, cpuShown: own},
	{name: "docker, limits on the parent, host", engine: "docker", flags: "--cgroupns host",
		cpu: parentCores, memory: parentMebibytes, parent: true, cpuShown: own},
	{name: "docker, limits on the parent, host, the host's tree", engine: "docker", flags: "--cgroupns host" + tree,
		cpu: parentCores, memory: parentMebibytes, parent: true},
	{name: "docker, limits on the parent, private, the host's tree beside", engine: "docker", flags: "--cgroupns private" + beside,
		cpu: parentCores, memory: parentMebibytes, parent: true},

	{name: "docker, a tmpfs over the cgroups", engine: "docker", flags: "--cgroupns private --tmpfs /sys/fs/cgroup",
		cpu: cores, memory: mebibytes, cpuShown: hidden, memoryShown: hidden},
	{name: "docker, a tmpfs over /sys with the same directories", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: "m=/sys\nmount -t tmpfs t $m\n" + hollow,
		cpu:   cores, memory: mebibytes, cpuShown: hidden, memoryShown: hidden},
	{name: "docker, /sys also elsewhere, covered there", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: "m=/x\nmount --rbind /sys $m\nmount -t tmpfs t $m",
		cpu:   cores, memory: mebibytes},
	{name: "docker, the same with the same directories", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: "m=/x\nmount --rbind /sys $m\nmount -t tmpfs t $m\n" + hollow,
		cpu:   cores, memory: mebibytes},
	{name: "docker, another user, /sys also below a directory of root's", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: "mkdir -p /srv/build/sys\nchmod 700 /srv/build\nchmod 755 /\nmount --rbind /sys /srv/build/sys\nset -- setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"",
		cpu:   cores, memory: mebibytes},
	{name: "docker, chroot with /sys bound", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: chrooted + "mount --rbind /sys /srv/sys\nmount -t proc proc /srv/proc\nset -- chroot /srv \"$@\"",
		cpu:   cores, memory: mebibytes},
	{name: "docker, limit files covered", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: "for f in cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us memory/memory.limit_in_bytes; do mount --bind /dev/null /sys/fs/cgroup/$f; done",
		cpu:   cores, memory: mebibytes, cpuShown: hidden},

	{name: "podman, private", engine: "podman", flags: "--cgroupns private", cpu: cores, memory: mebibytes},
	{name: "podman, host", engine: "podman", flags: "--cgroupns host", cpu: cores, memory: mebibytes},
	{name: "podman, privileged", engine: "podman", flags: "--privileged", cpu: cores, memory: mebibytes},
	{name: "podman, rootless", engine: "rootless"},
	{name: "podman, rootless, in a group with limits", engine: "rootless", cpu: cores, memory: mebibytes, crowded: true},

	{name: "bwrap, no /sys", engine: "bwrap", flags: "--proc /proc", cpu: cores, memory: mebibytes, cpuShown: hidden, memoryShown: hidden},
	{name: "bwrap, no /proc", engine: "bwrap", flags: "--ro-bind /sys /sys", cpu: cores, memory: mebibytes, cpuShown: hidden, memoryShown: hidden, noProc: true},
	{name: "bwrap, /sys bound", engine: "bwrap", flags: "--proc /proc --ro-bind /sys /sys", cpu: cores, memory: mebibytes},
	{name: "bwrap, a cgroup namespace, /sys bound", engine: "bwrap", flags: "--unshare-cgroup --proc /proc --ro-bind /sys /sys", cpu: cores, memory: mebibytes},
	{name: "chroot, bare", engine: "chroot", cpu: cores, memory: mebibytes, cpuShown: hidden, memoryShown: hidden, noProc: true},
}

// chrooted makes a root in /srv.
const chrooted = "mkdir -p /srv/proc /srv/sys /srv/usr /srv/e /srv/etc/" + "java-17-openjdk" + " /srv/tmp\n" +
	"for l in bin sbin lib lib64; do ln -s usr/$l /srv/$l; done\n" +
	"mount --bind /usr /srv/usr\nmount --bind /e /srv/e\nmount --bind " + javaConfig + " /srv" + javaConfig + "\n"
