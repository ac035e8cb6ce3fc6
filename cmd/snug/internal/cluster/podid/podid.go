// SPDX-License-Identifier: Apache-2.0

// Package podid finds the pod and the container of a process by the name of its cgroup, and
// the workload of a pod by its owners. It is pure: it asks neither the kubelet nor a container
// runtime.
//
// The kubelet makes a cgroup for each pod, and the container runtime one below it for each
// container. The names depend on the cgroup driver:
//
//	cgroupfs   /kubepods/burstable/podUID/ID
//	systemd    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//
// The names of a Guaranteed pod have no part for the class. systemd reads a dash in a
// slice's name as a level, so the UID has underscores in place of dashes. The UID of a static
// pod is a hash without dashes. The part before kubepods is the kubelet's --cgroup-root:
// empty, or /kubelet in kind, where systemd's names repeat it (kubelet-kubepods-...).
//
// Sources: k8s.io/kubernetes pkg/kubelet/cm, cgroup_manager_linux.go (ToSystemd,
// ToCgroupfs, escapeSystemdCgroupName), pod_container_manager_linux.go
// (podCgroupNamePrefix, GetPodContainerName) and pkg/kubelet/config/common.go
// (applyDefaults, the static pods' hash); containerd internal/cri/server/helpers.go (getCgroupsPath, prefix
// cri-containerd); CRI-O internal/config/cgmgr (prefix crio); Docker daemon/oci_linux.go
// (WithCgroups, prefix docker); runc libcontainer/cgroups/systemd (getUnitName); podman
// libpod/container_internal_linux.go (prefix libpod).
package podid

import (
	"strings"
)

// Class is a pod's class of service. Source: k8s.io/api core/v1, PodQOSClass.
type Class string

// The classes.
const (
	Guaranteed Class = "Guaranteed"
	Burstable  Class = "Burstable"
	BestEffort Class = "BestEffort"
)

// Place is the pod and container of a cgroup. Unknown fields are "".
type Place struct {
	// PodUID is metadata.uid, with dashes; of a static pod it is the kubelet's hash.
	PodUID string
	Class  Class
	// ContainerID is lower-case hexadecimal, usually 64 digits, as after "://" in a pod's
	// status.containerStatuses[].containerID.
	ContainerID string
	// Runtime is "containerd", "cri-o", "docker" or "podman". With the driver cgroupfs it is
	// usually "", because most runtimes do not add their name.
	Runtime string
}

// maxText bounds a /proc/PID/cgroup: a path of at most 4096 bytes for each hierarchy fits.
const maxText = 256 << 10

// Parse returns the place of a process from its /proc/PID/cgroup, with these lines, see
// cgroups(7):
//
//	4:memory:/kubepods/besteffort/pod1b/2c     v1, one for each hierarchy
//	0::/kubepods.slice/...                     v2
//
// Of several lines it uses the most complete one: a runtime may leave a container out of a
// hierarchy. For invalid text it returns the zero Place.
func Parse(cgroup string) Place {
	var best Place
	score := -1
	for line := range strings.Lines(cgroup[:min(len(cgroup), maxText)]) {
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

// ParsePath returns the place from one path. The last pod in it counts, because a node may
// itself be a container (kind), and after that pod the first container, because a container
// may make groups and containers of its own. Without a pod, the last container counts. The
// path may begin with "/..", as seen from another cgroup namespace.
func ParsePath(path string) Place {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		// A runtime with the driver cgroupfs takes systemd's triple for a name:
		// "kubepods-burstable-podUID.slice:cri-containerd:ID".
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

// pod parses one part of a path as a pod's name, given the parts before it.
func pod(part string, before []string) (uid string, class Class, ok bool) {
	if name, isSlice := strings.CutSuffix(part, ".slice"); isSlice {
		// Before "-pod" come the kubelet's root if any, kubepods, and the class if any:
		// kubelet-kubepods-burstable-podUID.
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

// classOf parses the name of the parent of pods, which ends in kubepods or kubepods and a class.
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

// isUID reports whether a text may be a pod's UID: one of RFC 9562, or the hash of a static
// pod's manifest. Users of the API can choose neither, but anyone can name a cgroup: the check
// makes the text safe to show and to use as a label.
func isUID(s string) bool {
	switch len(s) {
	case 36:
		return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && isHex(strings.ReplaceAll(s, "-", ""), 32, 32)
	case 32:
		return isHex(s, 32, 32)
	}
	return false
}

// runtimes lists the prefixes of containers' names.
var runtimes = []struct{ prefix, runtime string }{
	{"cri-containerd-", "containerd"},
	{"nerdctl-", "containerd"},
	{"crio-", "cri-o"},
	{"docker-", "docker"},
	{"libpod-", "podman"},
}

// container parses one part of a path as a container's name.
func container(part string) (id, runtime string, ok bool) {
	name := strings.TrimSuffix(part, ".scope")
	for _, r := range runtimes {
		if id, found := strings.CutPrefix(name, r.prefix); found && isHex(id, 12, 64) {
			return id, r.runtime, true
		}
	}
	// With the driver cgroupfs the name is only the id.
	return name, "", name == part && isHex(name, 64, 64)
}

func isHex(s string, minLen, maxLen int) bool {
	if len(s) < minLen || len(s) > maxLen {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }) < 0
}

// HashLabel is the label by which a Deployment tells its ReplicaSets, and their pods, apart.
// Source: k8s.io/api apps/v1, DefaultDeploymentUniqueLabelKey.
const HashLabel = "pod-template-hash"

// RolloutHashLabel is the same label of an Argo Rollout.
// Source: argo-rollouts pkg/apis/rollouts/v1alpha1, DefaultRolloutUniqueLabelKey.
const RolloutHashLabel = "rollouts-pod-template-hash"

// Workload returns the workload of a pod, "Deployment/web". kind and name are those of its
// controlling owner, hash and rollout the values of the labels HashLabel and RolloutHashLabel;
// "" = none. The ReplicaSets of a Deployment or Rollout, and the Jobs of a CronJob, change, so
// their owner is derived from their name.
// Source: k8s.io/kubernetes/pkg/controller/deployment and .../cronjob, getJobName;
// argo-rollouts/rollout, createNewReplicaSet.
func Workload(kind, name, hash, rollout string) string {
	switch base, end, _ := cutLast(name, "-"); {
	case base == "":
	case kind == "ReplicaSet" && hash != "" && end == hash:
		kind, name = "Deployment", base
	case kind == "ReplicaSet" && rollout != "" && end == rollout:
		kind, name = "Rollout", base
	case kind == "Job" && len(end) >= 8 && strings.Trim(end, "0123456789") == "":
		kind, name = "CronJob", base // the end is a time in minutes
	}
	return kind + "/" + name
}

// generatedLen is the number of letters that the API server appends to a generateName, after
// at most maxBase bytes of it.
// Source: k8s.io/apiserver/pkg/storage/names, MaxGeneratedNameLength.
const (
	generatedLen = 5
	maxBase      = 63 - generatedLen
)

// Alone returns the workload of a pod without a controller: "Pod/web". If the API server
// generates the pod's name, which it does after admission, it is the base of the name.
func Alone(name, generateName string) string {
	generateName = generateName[:min(len(generateName), maxBase)]
	generated := strings.HasPrefix(name, generateName) && len(name) == len(generateName)+generatedLen
	if base := strings.TrimSuffix(generateName, "-"); base != "" && (name == "" || generated) {
		name = base
	}
	return "Pod/" + name
}

// OfName returns the workload of a pod by its name alone: "Deployment/web" for "web-5d4f7c9b6d-x7k2p", whose
// second part is the hash of a template and whose last one is random; "" for all others, because their names
// do not tell the kind. Source: k8s.io/apimachinery/pkg/util/rand, SafeEncodeString and String; a hash is a
// decimal number of 32 bits, whose digits are encoded by these ten letters.
func OfName(name string) string {
	rest, random, ok := cutLast(name, "-")
	if !ok || len(random) != 5 || strings.Trim(random, "bcdfghjklmnpqrstvwxz2456789") != "" {
		return ""
	}
	deployment, hash, ok := cutLast(rest, "-")
	if !ok || deployment == "" || len(hash) < 6 || len(hash) > 10 || strings.Trim(hash, "456789bcdf") != "" {
		return ""
	}
	return "Deployment/" + deployment
}
