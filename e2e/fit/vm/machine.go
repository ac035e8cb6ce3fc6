// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"slices"
	"strings"
)

// machine is what differs between architectures.
type machine struct {
	emulator string // QEMU's program
	// kernel is Debian's package that always depends on the newest kernel made
	// for virtual machines: small, and with everything a guest needs built in.
	kernel   string
	hardware []string // which machine it is, none where the default will do
	console  string   // Linux's name of the first serial port
	// second puts what comes out of the second serial port into the character
	// device "results", and port is Linux's name of that port.
	second []string
	port   string
}

// machines by GOARCH.
var machines = map[string]machine{
	"amd64": {
		emulator: "qemu-system-x86_64",
		kernel:   "linux-image-cloud-amd64",
		console:  "ttyS0",
		second:   []string{"-serial", "chardev:results"},
		port:     "/dev/ttyS1",
	},
	// The board that QEMU made for virtual machines has one serial port of its
	// own. A server's CPU: it has the atomic instructions of ARMv8.1.
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

// command is QEMU's command line for one boot.
func (m machine) command(spec Spec, kernel, initrd, results string) []string {
	return slices.Concat([]string{m.emulator}, m.hardware, []string{
		"-accel", "tcg,thread=multi",
		"-smp", fmt.Sprint(spec.CPUs), "-m", "2G",
		"-nodefaults", "-display", "none", "-no-reboot",
		"-serial", "stdio",
		// A comma ends an option's value, two are one in it.
		"-chardev", "file,id=results,path=" + strings.ReplaceAll(results, ",", ",,"),
	}, m.second, []string{
		"-kernel", kernel, "-initrd", initrd,
		// Kernel messages (each OOM kill writes many) would only cost time.
		"-append", "console=" + m.console + " quiet loglevel=1 panic=-1",
	})
}
