// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// machine holds the differences between architectures.
type machine struct {
	emulator string // QEMU's executable
	// kernel is the Debian package that depends on the newest kernel for virtual machines. That
	// kernel is small and has everything that a guest needs built in.
	kernel   string
	debian   string   // Debian's name of the architecture; empty = as GOARCH
	hardware []string // QEMU options for the board and CPU; empty = default
	console  string   // Linux's name of the first serial port
	boot     string   // more parameters of the kernel
	// second connects the second serial port to the character device "results"; port is Linux's
	// name of that port.
	second []string
	port   string
}

// noTimerCheck: the kernel counts ticks of the timer while it loops, and panics ("IO-APIC + timer doesn't
// work") if the emulator gets no CPU meanwhile.
const noTimerCheck = " no_timer_check"

// machines is keyed by GOARCH.
var machines = map[string]machine{
	"amd64": {
		emulator: "qemu-system-x86_64",
		kernel:   "linux-image-cloud-amd64",
		console:  "ttyS0",
		boot:     noTimerCheck,
		second:   []string{"-serial", "chardev:results"},
		port:     "/dev/ttyS1",
	},
	// 32 bits, without PAE. Debian has no kernel for virtual machines of this kind, and the usual one
	// also has everything built in.
	"386": {
		emulator: "qemu-system-i386",
		kernel:   "linux-image-686",
		debian:   "i386",
		console:  "ttyS0",
		boot:     noTimerCheck,
		second:   []string{"-serial", "chardev:results"},
		port:     "/dev/ttyS1",
	},
	// QEMU's board for virtual machines has one serial port. The CPU is a server's, with the atomic
	// instructions of ARMv8.1.
	"arm64": {
		emulator: "qemu-system-aarch64",
		kernel:   "linux-image-cloud-arm64",
		hardware: []string{"-machine", "virt,gic-version=3", "-cpu", "neoverse-n1"},
		console:  "ttyAMA0",
		second:   []string{"-device", "pci-serial,chardev=results"},
		port:     "/dev/ttyS0",
	},
}

// machineOf returns the machine of an architecture.
func machineOf(arch string) (machine, error) {
	m, ok := machines[arch]
	if !ok {
		return m, fmt.Errorf("no machine for architecture %q", arch)
	}
	return m, nil
}

// debianName returns Debian's name of the architecture.
func (m machine) debianName(arch string) string { return cmp.Or(m.debian, arch) }

// command returns QEMU's command line for one boot.
func (m machine) command(spec Spec, kernel, initrd, results string) []string {
	return slices.Concat([]string{m.emulator}, m.hardware, []string{
		"-accel", "tcg,thread=multi",
		"-smp", fmt.Sprint(spec.CPUs), "-m", "2G",
		"-nodefaults", "-display", "none", "-no-reboot",
		"-serial", "stdio",
		// A comma ends the value of an option; two commas are a literal comma.
		"-chardev", "file,id=results,path=" + strings.ReplaceAll(results, ",", ",,"),
	}, m.second, []string{
		"-kernel", kernel, "-initrd", initrd,
		// Kernel messages only cost time; each OOM kill writes many.
		"-append", "console=" + m.console + " quiet loglevel=1 panic=-1" + m.boot,
	})
}
