// SPDX-License-Identifier: Apache-2.0

package engines

// layout is one way in which a container's cgroups are mounted.
type layout struct {
	name   string
	engine string // a key of engines
	flags  string // of the engine
	setup  string // what is done inside first, by a shell
	// What the kernel gives: cores and MiB, 0 where there is no limit.
	cpu    float64
	memory int
	// parent has these limits on the group above the container's, which has only a wider one
	// of memory itself.
	parent bool
	ownCPU float64 // the quota of the container's own group, where the tighter one is above
	// How much of it the container is shown.
	cpuShown, memoryShown shown
	noProc                bool    // it has no /proc, without which a JVM does not start
	slack                 float64 // cores that threads may get above the quota
	crowded               bool    // the engine's own processes have their memory of the same limit
}

// shown is what can be read in a container.
type shown int

const (
	all    shown = iota
	nought       // nothing: to say so is right, too
	own          // the container's own group, whose limit is not the tightest: to say its limit is right
)

// The limits of most layouts, and those of a parent.
const (
	cores, mebibytes             = 0.2, 100
	parentCores, parentMebibytes = 0.15, 90
)

const (
	mounting = " --cap-add SYS_ADMIN --security-opt seccomp=unconfined"
	tree     = " -v /sys/fs/cgroup:/sys/fs/cgroup:ro"
	beside   = " -v /sys/fs/cgroup:/host:ro"
	// Directories where a container without a namespace of its own, and one with, would
	// look for its groups.
	hollow = "mkdir -p $m/fs/cgroup/cpu $m/fs/cgroup/cpuacct $m/fs/cgroup/memory"
)

// layouts are those of the audit of November 2026, and what makes them differ.
var layouts = []layout{
	{name: "runc, private", engine: "runc", flags: "private", cpu: cores, memory: mebibytes},
	{name: "runc, host", engine: "runc", flags: "host", cpu: cores, memory: mebibytes},

	{name: "docker, private", engine: "docker", flags: "--cgroupns private", cpu: cores, memory: mebibytes},
	{name: "docker, host", engine: "docker", flags: "--cgroupns host", cpu: cores, memory: mebibytes},
	{name: "docker, host, the host's tree", engine: "docker", flags: "--cgroupns host" + tree, cpu: cores, memory: mebibytes},
	{name: "docker, private, the host's tree", engine: "docker", flags: "--cgroupns private" + tree, cpu: cores, memory: mebibytes},
	{name: "docker, private, the host's tree beside", engine: "docker", flags: "--cgroupns private" + beside, cpu: cores, memory: mebibytes},

	// memory.stat of v1 has the limit of all that is above.
	{name: "docker, limits on the parent, private", engine: "docker", flags: "--cgroupns private",
		cpu: parentCores, memory: parentMebibytes, parent: true, cpuShown: own},
	{name: "docker, limits on the parent, host", engine: "docker", flags: "--cgroupns host",
		cpu: parentCores, memory: parentMebibytes, parent: true, cpuShown: own},
	{name: "docker, limits on the parent, host, the host's tree", engine: "docker", flags: "--cgroupns host" + tree,
		cpu: parentCores, memory: parentMebibytes, parent: true},
	{name: "docker, limits on the parent, private, the host's tree beside", engine: "docker", flags: "--cgroupns private" + beside,
		cpu: parentCores, memory: parentMebibytes, parent: true},

	{name: "docker, a tmpfs over the cgroups", engine: "docker", flags: "--cgroupns private --tmpfs /sys/fs/cgroup",
		cpu: cores, memory: mebibytes, cpuShown: nought, memoryShown: nought},
	{name: "docker, a tmpfs over /sys with the same directories", engine: "docker", flags: "--cgroupns private" + mounting,
		setup: "m=/sys\nmount -t tmpfs t $m\n" + hollow,
		cpu:   cores, memory: mebibytes, cpuShown: nought, memoryShown: nought},
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
		cpu:   cores, memory: mebibytes, cpuShown: nought},

	{name: "podman, private", engine: "podman", flags: "--cgroupns private", cpu: cores, memory: mebibytes},
	{name: "podman, host", engine: "podman", flags: "--cgroupns host", cpu: cores, memory: mebibytes},
	{name: "podman, privileged", engine: "podman", flags: "--privileged", cpu: cores, memory: mebibytes},
	{name: "podman, rootless", engine: "rootless"},
	{name: "podman, rootless, in a group with limits", engine: "rootless", cpu: cores, memory: mebibytes, crowded: true},

	{name: "bwrap, no /sys", engine: "bwrap", flags: "--proc /proc", cpu: cores, memory: mebibytes, cpuShown: nought, memoryShown: nought},
	{name: "bwrap, no /proc", engine: "bwrap", flags: "--ro-bind /sys /sys", cpu: cores, memory: mebibytes, cpuShown: nought, memoryShown: nought, noProc: true},
	{name: "bwrap, /sys bound", engine: "bwrap", flags: "--proc /proc --ro-bind /sys /sys", cpu: cores, memory: mebibytes},
	{name: "bwrap, a cgroup namespace, /sys bound", engine: "bwrap", flags: "--unshare-cgroup --proc /proc --ro-bind /sys /sys", cpu: cores, memory: mebibytes},
	{name: "chroot, bare", engine: "chroot", cpu: cores, memory: mebibytes, cpuShown: nought, memoryShown: nought, noProc: true},
}

// chrooted makes a root in /srv.
const chrooted = "mkdir -p /srv/proc /srv/sys /srv/usr /srv/e /srv/etc/" + "java-17-openjdk" + " /srv/tmp\n" +
	"for l in bin sbin lib lib64; do ln -s usr/$l /srv/$l; done\n" +
	"mount --bind /usr /srv/usr\nmount --bind /e /srv/e\nmount --bind " + javaConfig + " /srv" + javaConfig + "\n"
