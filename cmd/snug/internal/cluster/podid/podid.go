// SPDX-License-Identifier: Apache-2.0

// Package podid tells from the name of a process's cgroup which container of which pod
// it belongs to, and from a pod's owners which workload that is of. It is pure, and asks
// neither the kubelet nor a container runtime.
//
// The kubelet makes a cgroup for each pod, the runtime one for each container below it.
// Two drivers name them:
//
//	cgroupfs   /kubepods/burstable/podUID/ID
//	systemd    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//
// A guaranteed pod's have no word for the class of service. systemd reads a dash in a
// slice's name as a level, so the UID has underscores in place of its own dashes. The
// UID of a static pod is a hash without any. What stands before kubepods is the
// kubelet's --cgroup-root: nothing, or /kubelet in kind, where systemd's names repeat it
// (kubelet-kubepods-...).
//
// Sources: k8s.io/kubernetes pkg/kubelet/cm, cgroup_manager_linux.go (ToSystemd,
// ToCgroupfs, escapeSystemdCgroupName), pod_container_manager_linux.go
// (podCgroupNamePrefix, GetPodContainerName) and pkg/kubelet/config/common.go
// (applyDefaults, the static pods' hash); containerd internal/cri/server/helpers.go (getCgroupsPath, prefix
// cri-containerd); CRI-O internal/config/cgmgr (prefix crio); Docker daemon/oci_linux.go
// (WithCgroups, prefix docker); runc libcontainer/cgroups/systemd (getUnitName); podman
// libpod/container_internal_linux.go (prefix libpod).
package podid

import "strings"

// Class is a pod's class of service. Source: k8s.io/api core/v1, PodQOSClass.
type Class string

// The classes.
const (
	Guaranteed Class = "Guaranteed"
	Burstable  Class = "Burstable"
	BestEffort Class = "BestEffort"
)

// Place is what a cgroup's path tells. Everything is "" where it does not tell.
type Place struct {
	// PodUID is as the API server writes it, metadata.uid, with dashes; of a static
	// pod it is the kubelet's hash.
	PodUID string
	Class  Class
	// ContainerID is lower-case hexadecimal, mostly of 64 digits, as in a pod's
	// status.containerStatuses[].containerID behind "://".
	ContainerID string
	// Runtime is "containerd", "cri-o", "docker" or "podman"; "" also where only the
	// driver cgroupfs is used, in which most name no one.
	Runtime string
}

// mostText is more than a process can be in groups: 4096 bytes of a path for each of
// some hierarchies.
const mostText = 256 << 10

// Parse finds the place of a process in the text of its /proc/PID/cgroup, whose lines
// are, see cgroups(7),
//
//	4:memory:/kubepods/besteffort/pod1b/2c     v1, one for each hierarchy
//	0::/kubepods.slice/...                     v2
//
// Of several lines it takes the one that tells most: a runtime may leave a container out
// of a hierarchy. Text that makes no sense has no place.
func Parse(cgroup string) Place {
	var best Place
	score := -1
	for line := range strings.Lines(cgroup[:min(len(cgroup), mostText)]) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, ok := strings.Cut(rest, ":")
		if !ok || !strings.HasPrefix(path, "/") {
			continue
		}
		p := ParsePath(path)
		n := 0
		if p.PodUID != "" {
			n += 4
		}
		if p.ContainerID != "" {
			n += 2
		}
		if n > score {
			best, score = p, n
		}
	}
	return best
}

// ParsePath finds the place in one path. The last pod in it counts, because a node may
// be a container itself (kind), and behind that pod the first container, because a
// container may make groups and containers of its own. Where there is no pod, the last
// container counts. A path that begins with "/.." is one as seen from another cgroup
// namespace, and is as good.
func ParsePath(path string) Place {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		// A runtime with the driver cgroupfs that is given systemd's triple takes it for
		// a name: "kubepods-burstable-podUID.slice:cri-containerd:ID".
		if triple := strings.Split(part, ":"); len(triple) == 3 {
			parts = append(parts, triple[0], triple[1]+"-"+triple[2])
			continue
		}
		parts = append(parts, part)
	}
	var p Place
	at := -1
	for i, part := range parts {
		if uid, class, ok := pod(part, parts[:i]); ok {
			p.PodUID, p.Class, at = uid, class, i
		}
	}
	for i := at + 1; i < len(parts); i++ {
		if id, runtime, ok := container(parts[i]); ok {
			p.ContainerID, p.Runtime = id, runtime
			if at >= 0 {
				break
			}
		}
	}
	return p
}

// pod reads one part of a path, which may be a pod's, given those before it.
func pod(part string, before []string) (uid string, class Class, ok bool) {
	if name, isSlice := strings.CutSuffix(part, ".slice"); isSlice {
		// Before "-pod" stand kubepods, perhaps a class, and before them the kubelet's
		// root: kubelet-kubepods-burstable-podUID.
		head, tail, found := cutLast(name, "-pod")
		if !found {
			return "", "", false
		}
		class, found = classOf(head, "-")
		uid = strings.ReplaceAll(tail, "_", "-")
		return uid, class, found && isUID(uid)
	}
	uid, found := strings.CutPrefix(part, "pod")
	if !found || !isUID(uid) {
		return "", "", false
	}
	class, found = classOf(strings.Join(before, "/"), "/")
	return uid, class, found
}

// classOf reads the name of what holds pods: it ends in kubepods or in that and a class.
func classOf(name, separator string) (Class, bool) {
	class := Guaranteed
	if head, ok := strings.CutSuffix(name, separator+"burstable"); ok {
		name, class = head, Burstable
	} else if head, ok := strings.CutSuffix(name, separator+"besteffort"); ok {
		name, class = head, BestEffort
	}
	return class, name == "kubepods" || strings.HasSuffix(name, separator+"kubepods")
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// isUID reports whether a text may be a pod's UID: one of RFC 9562, or the hash of a
// static pod's manifest. Users of the API may choose neither; what a cgroup's name
// claims is checked so that it can be shown and made a label.
func isUID(s string) bool {
	switch len(s) {
	case 36:
		return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && isHex(strings.ReplaceAll(s, "-", ""), 32, 32)
	case 32:
		return isHex(s, 32, 32)
	}
	return false
}

// runtimes are the prefixes of the names of containers.
var runtimes = []struct{ prefix, runtime string }{
	{"cri-containerd-", "containerd"},
	{"nerdctl-", "containerd"},
	{"crio-", "cri-o"},
	{"docker-", "docker"},
	{"libpod-", "podman"},
}

// container reads one part of a path, which may be a container's.
func container(part string) (id, runtime string, ok bool) {
	name := strings.TrimSuffix(part, ".scope")
	for _, r := range runtimes {
		if id, found := strings.CutPrefix(name, r.prefix); found && isHex(id, 12, 64) {
			return id, r.runtime, true
		}
	}
	// The driver cgroupfs names it by its id alone, of which nothing else is.
	return name, "", name == part && isHex(name, 64, 64)
}

func isHex(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }) < 0
}
