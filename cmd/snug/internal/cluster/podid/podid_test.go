// SPDX-License-Identifier: Apache-2.0

package podid

import (
	"strings"
	"testing"
)

const (
	uid     = "0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"
	escaped = "0ad2ec32_5d7e_4f53_a7a8_6b9d0e1c2f34"
	static  = "4f5b1bca2b1d3e6f708192a3b4c5d6e7"
	id      = "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa99887766554433221100"
	other   = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// TestParsePath checks the names that each driver, runtime and distribution gives.
func TestParsePath(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       Place
	}{
		// kubelet with cgroupDriver cgroupfs: pkg/kubelet/cm/cgroup_manager_linux.go, ToCgroupfs.
		{"containerd, cgroupfs, guaranteed", "/kubepods/pod" + uid + "/" + id, Place{PodUID: uid, Class: Guaranteed, ContainerID: id}},
		{"containerd, cgroupfs, burstable", "/kubepods/burstable/pod" + uid + "/" + id, Place{PodUID: uid, Class: Burstable, ContainerID: id}},
		{"k3s, best effort", "/kubepods/besteffort/pod" + uid + "/" + id, Place{PodUID: uid, Class: BestEffort, ContainerID: id}},
		// A static pod's UID is a hash: pkg/kubelet/config/common.go, applyDefaults.
		{"static pod, cgroupfs", "/kubepods/burstable/pod" + static + "/" + id, Place{PodUID: static, Class: Burstable, ContainerID: id}},
		{"static pod, systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice/cri-containerd-" + id + ".scope", Place{PodUID: static, Class: Burstable, ContainerID: id, Runtime: "containerd"}},
		// kubelet with cgroupDriver systemd: ToSystemd, escapeSystemdCgroupName; containerd's
		// internal/cri/server/helpers.go, getCgroupsPath.
		{"containerd, systemd, guaranteed", "/kubepods.slice/kubepods-pod" + escaped + ".slice/cri-containerd-" + id + ".scope", Place{PodUID: uid, Class: Guaranteed, ContainerID: id, Runtime: "containerd"}},
		{"containerd, systemd, best effort", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + escaped + ".slice/cri-containerd-" + id + ".scope", Place{PodUID: uid, Class: BestEffort, ContainerID: id, Runtime: "containerd"}},
		// containerd with SystemdCgroup=false under a kubelet with systemd: the triple of
		// runc's docs/systemd.md becomes a name.
		{"containerd, drivers at odds", "/system.slice/containerd.service/kubepods-burstable-pod" + escaped + ".slice:cri-containerd:" + id, Place{PodUID: uid, Class: Burstable, ContainerID: id, Runtime: "containerd"}},
		// CRI-O: internal/config/cgmgr; crun puts the container into a group below.
		{"CRI-O, systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + escaped + ".slice/crio-" + id + ".scope", Place{PodUID: uid, Class: Burstable, ContainerID: id, Runtime: "cri-o"}},
		{"CRI-O, crun", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + escaped + ".slice/crio-" + id + ".scope/container", Place{PodUID: uid, Class: Burstable, ContainerID: id, Runtime: "cri-o"}},
		{"CRI-O, cgroupfs", "/kubepods/burstable/pod" + uid + "/crio-" + id, Place{PodUID: uid, Class: Burstable, ContainerID: id, Runtime: "cri-o"}},
		{"CRI-O's conmon is not the container", "/kubepods.slice/kubepods-pod" + escaped + ".slice/crio-conmon-" + id + ".scope", Place{PodUID: uid, Class: Guaranteed}},
		// cri-dockerd hands the kubelet's parent on to Docker: daemon/oci_linux.go, WithCgroups.
		{"cri-dockerd, systemd", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + escaped + ".slice/docker-" + id + ".scope", Place{PodUID: uid, Class: BestEffort, ContainerID: id, Runtime: "docker"}},
		{"cri-dockerd, cgroupfs", "/kubepods/besteffort/pod" + uid + "/" + id, Place{PodUID: uid, Class: BestEffort, ContainerID: id}},
		{"Docker, systemd", "/system.slice/docker-" + id + ".scope", Place{ContainerID: id, Runtime: "docker"}},
		{"Docker, cgroupfs", "/docker/" + id, Place{ContainerID: id}},
		{"podman", "/machine.slice/libpod-" + id + ".scope/container", Place{ContainerID: id, Runtime: "podman"}},
		// kind: the node image's kubelet.service runs with --cgroup-root=/kubelet, in a
		// container of Docker's.
		{"kind, seen inside the node", "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + escaped + ".slice/cri-containerd-" + id + ".scope", Place{PodUID: uid, Class: BestEffort, ContainerID: id, Runtime: "containerd"}},
		{"kind, seen from the host", "/system.slice/docker-" + other + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + escaped + ".slice/cri-containerd-" + id + ".scope", Place{PodUID: uid, Class: Guaranteed, ContainerID: id, Runtime: "containerd"}},
		{"kind, cgroupfs", "/docker/" + other + "/kubelet/kubepods/burstable/pod" + uid + "/" + id, Place{PodUID: uid, Class: Burstable, ContainerID: id}},
		{"a cgroup namespace between", "/../../kubepods-burstable.slice/kubepods-burstable-pod" + escaped + ".slice/cri-containerd-" + id + ".scope", Place{PodUID: uid, Class: Burstable, ContainerID: id, Runtime: "containerd"}},
		{"groups that the container made", "/kubepods/pod" + uid + "/" + id + "/docker/" + other, Place{PodUID: uid, Class: Guaranteed, ContainerID: id}},
		{"systemd in a container", "/kubepods/pod" + uid + "/" + id + "/system.slice/x.service", Place{PodUID: uid, Class: Guaranteed, ContainerID: id}},
		{"the pod's own group", "/kubepods/burstable/pod" + uid, Place{PodUID: uid, Class: Burstable}},

		{"a service of the host", "/system.slice/kubelet.service", Place{}},
		{"a user's session", "/user.slice/user-1000.slice/session-4.scope", Place{}},
		{"the root group", "/", Place{}},
		{"above what is seen", "/..", Place{}},
		{"an application called pod", "/srv/pod" + uid + "/" + id, Place{ContainerID: id}},
		{"no UID", "/kubepods/podx/" + id, Place{ContainerID: id}},
		{"a UID with a newline", "/kubepods/pod" + uid[:35] + "\n/" + id, Place{ContainerID: id}},
		{"short hexadecimal is no id", "/kubepods/pod" + uid + "/deadbeef", Place{PodUID: uid, Class: Guaranteed}},
		{"upper case is no id", "/docker/" + strings.ToUpper(id), Place{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ParsePath(c.path); got != c.want {
				t.Errorf("%s\n got %+v\nwant %+v", c.path, got, c.want)
			}
		})
	}
}

// TestParse: of several hierarchies the most complete one counts.
func TestParse(t *testing.T) {
	in := Place{PodUID: uid, Class: Burstable, ContainerID: id}
	for _, c := range []struct {
		name, text string
		want       Place
	}{
		{"v2", "0::/kubepods/burstable/pod" + uid + "/" + id + "\n", in},
		{"v1", "12:cpuset:/kubepods/burstable/pod" + uid + "/" + id + "\n4:memory:/kubepods/burstable/pod" + uid + "/" + id + "\n", in},
		{"hybrid, v2 without the container", "4:memory:/kubepods/burstable/pod" + uid + "/" + id + "\n0::/system.slice/containerd.service\n", in},
		{"hybrid, v1 without the container", "9:misc:/\n4:cpu,cpuacct:/\n0::/kubepods/burstable/pod" + uid + "/" + id, in},
		{"drivers at odds", "9:cpuset:/kubepods-burstable-pod" + escaped + ".slice:cri-containerd:" + id + "\n", Place{PodUID: uid, Class: Burstable, ContainerID: id, Runtime: "containerd"}},
		{"nothing", "", Place{}},
		{"no lines of cgroups", "what\nis:this\n1:2\n", Place{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Parse(c.text); got != c.want {
				t.Errorf("\n got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// FuzzParse: the result for any path is safe to show.
func FuzzParse(f *testing.F) {
	f.Add("0::/kubepods/burstable/pod" + uid + "/" + id)
	f.Add("0::/kubepods-burstable-pod" + escaped + ".slice:cri-containerd:" + id)
	f.Add("1::/..")
	f.Fuzz(func(t *testing.T, text string) {
		p := Parse(text)
		if p.PodUID != "" && !isUID(p.PodUID) || p.ContainerID != "" && !isHex(p.ContainerID, 12, 64) {
			t.Errorf("%q: %+v", text, p)
		}
		if (p.PodUID == "") != (p.Class == "") {
			t.Errorf("%q: %+v", text, p)
		}
	})
}
