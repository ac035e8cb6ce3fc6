// SPDX-License-Identifier: Apache-2.0

// Guest moves itself into groups with any quota before it becomes the payload. The runtime must not
// read the quota then, because some quotas crash it.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Guest is the first process of the test machine. It mounts the usual file systems of Linux, runs
// the steps of a job one after the other, and powers the machine off.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/snug-go/snug/e2e/fit/vm/wire"
)

const cgroupRoot = "/sys/fs/cgroup"

// controllers lists the controllers that jobs may use, in v1 and v2.
var controllers = []string{"cpu", "cpuset", "memory", "pids"}

func main() {
	if len(os.Args) == 2 && os.Args[1] == stepArg {
		enter()
		return
	}
	fmt.Println(wire.FirstLine)
	code := 0
	if err := run(); err != nil {
		fmt.Println("snug-vm: error:", err)
		code = 1
	}
	fmt.Printf("\n%s%d\n", wire.LastLine, code)
	syscall.Sync()
	if err := syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("snug-vm: power off:", err)
	}
	select {}
}

func run() error {
	text, err := os.ReadFile(wire.JobFile)
	if err != nil {
		return err
	}
	var job wire.Job
	if err := json.Unmarshal(text, &job); err != nil {
		return fmt.Errorf("%s: %w", wire.JobFile, err)
	}
	if err := mounts(job.Hierarchy); err != nil {
		return err
	}
	results, err := os.OpenFile(job.Results, os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer results.Close()
	for _, step := range job.Steps {
		result := wire.Result{Name: step.Name, Exit: -1}
		begin := time.Now()
		if err := carryOut(job.Hierarchy, step, &result); err != nil {
			result.Err = err.Error()
		}
		result.Seconds = time.Since(begin).Seconds()
		line, err := json.Marshal(result)
		if err != nil {
			return err
		}
		if _, err := results.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func mounts(h wire.Hierarchy) error {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		// Some kernels have mounted devtmpfs already; a second mount changes nothing.
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil && err != syscall.EBUSY {
			return fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	if err := os.MkdirAll("/dev/pts", 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666"); err != nil {
		return fmt.Errorf("mount /dev/pts: %w", err)
	}
	if err := os.Chmod("/tmp", 0o1777); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("bring up lo: %w", err)
	}
	if err := mountCgroups(h); err != nil || h != wire.V2 {
		return err
	}
	// Programs that make groups themselves need the controllers in the root group.
	return enable("/")
}

// loopback brings the network interface lo up (netdevice(7)).
func loopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte // struct ifreq has 40 bytes
	}{name: [syscall.IFNAMSIZ]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// mountCgroups mounts the cgroup file systems below cgroupRoot, as seen from the caller's cgroup
// namespace.
func mountCgroups(h wire.Hierarchy) error {
	switch h {
	case wire.V2:
		return mountAt("cgroup2", cgroupRoot, "")
	case wire.V1:
		if err := syscall.Mount("tmpfs", cgroupRoot, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", cgroupRoot, err)
		}
		for _, c := range controllers {
			if err := mountAt("cgroup", filepath.Join(cgroupRoot, c), c); err != nil {
				return err
			}
		}
		return mountAt("cgroup2", filepath.Join(cgroupRoot, "unified"), "")
	}
	return fmt.Errorf("unknown hierarchy %q", h)
}

func mountAt(fstype, dir, options string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("cgroup", dir, fstype, 0, options); err != nil {
		return fmt.Errorf("mount %s %s: %w", fstype, dir, err)
	}
	return nil
}

// enable enables the controllers for the children of a v2 group.
func enable(group string) error {
	file := filepath.Join(cgroupRoot, group, "cgroup.subtree_control")
	text := "+" + strings.Join(controllers, " +")
	if err := os.WriteFile(file, []byte(text), 0); err != nil {
		return fmt.Errorf("enable controllers: %w", err)
	}
	return nil
}
