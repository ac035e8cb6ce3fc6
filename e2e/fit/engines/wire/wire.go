// SPDX-License-Identifier: Apache-2.0

// Package wire defines the messages between a test and the program in a container: one JSON object
// per line.
package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Enough is how many MiB are taken if no limit stops it.
const Enough = 250

// Request is a command: run, burn, eat or look.
type Request struct {
	Do      string
	Seconds int                 // of burn
	Run     map[string][]string // command lines by name; a program without a path is in inmate's directory
}

// Answer is the result of a request. The first one is empty and means that the program is ready.
type Answer struct {
	Run            map[string]Run `json:",omitempty"`
	Burn           Burn
	Eat            Eat
	Mounts, Groups string
	Error          string
}

// Run is the result of a command.
type Run struct{ Stdout, Stderr, Error string }

// Burn is the CPU time of six threads, in seconds.
type Burn struct{ CPU, Wall float64 }

// Eat is how much memory a process took, and whether it was killed then.
type Eat struct {
	MiB    int
	Killed bool
}

// Runtime is what a Go program's runtime uses, and the files of its quota that it holds open.
type Runtime struct {
	Go                 string
	GOMAXPROCS, NumCPU int
	Files              []File
}

// File is a file and its text.
type File struct{ Name, Text string }

// Order describes a container to start in a virtual machine.
type Order struct {
	Directories []string          // made first
	Files       map[string]string // written next
	Group       string            // directory of the engine's group; "" = unchanged
	Line        []string          // the engine's command line
	Token       string
	Questions   map[string][]string
	Cores       float64 // cores that are enough
	Seconds     int     // of each burn
}

// Done is the result of an order.
type Done struct {
	Inside  Answer
	Outside Run // output of snug plan --pid
	Cores   float64
	Eat     Eat
}

// Pid returns the process id of the inmate with a container's token in its command line. The
// engines that started it are other programs.
func Pid(token string) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		text, _ := os.ReadFile(name)
		args := strings.Split(string(text), "\x00")
		if len(args) == 4 && filepath.Base(args[0]) == "inmate" && args[1] == "serve" && args[2] == token {
			return strconv.Atoi(filepath.Base(filepath.Dir(name)))
		}
	}
	return 0, errors.New("no process of " + token)
}
