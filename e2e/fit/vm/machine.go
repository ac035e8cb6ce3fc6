// SPDX-License-Identifier: Apache-2.0

package vm

import (
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
	hardware []string // QEMU options for the board and CPU; empty = default
	console  string   // Linux's name of the first serial port
	// second connects the second serial port to the character device "results"; port is Linux's
	// name of that port.
	second []string
	port   string
}

// machines is keyed by GOARCH.
var machines = map[string]machine{
	"amd64": {
		emulator: "qemu-system-x86_64",
		kernel:   "linux-image-cloud-amd64",
		console:  "ttyS0",
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
		"-append", "console=" + m.console + " quiet loglevel=1 panic=-1",
	})
}
