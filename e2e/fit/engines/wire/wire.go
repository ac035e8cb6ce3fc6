// SPDX-License-Identifier: Apache-2.0

// Package wire is what a test asks the program in a container and what it hears back: one
// JSON object for each line.
package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Enough is how many MiB are taken where nothing puts an end to it.
const Enough = 250

// Request is what to do: run, burn, eat or look.
type Request struct {
	Do      string
	Seconds int                 // to burn
	Run     map[string][]string // command lines by name; a program without a path is inmate's neighbour
}

// Answer holds what was asked for; the first one nothing, when the program is there.
type Answer struct {
	Run            map[string]Run `json:",omitempty"`
	Burn           Burn
	Eat            Eat
	Mounts, Groups string
	Error          string
}

// Run is what became of a command.
type Run struct{ Stdout, Stderr, Error string }

// Burn is the CPU time that six threads got, in seconds.
type Burn struct{ CPU, Wall float64 }

// Eat is how much memory a process could take, and whether it was killed then.
type Eat struct {
	MiB    int
	Killed bool
}

// Runtime is what a Go program's own runtime uses, and the files of its quota that it
// holds open.
type Runtime struct {
	Go                 string
	GOMAXPROCS, NumCPU int
	Files              []File
}

// File is a file and its text.
type File struct{ Name, Text string }

// Order is a container to start in a virtual machine.
type Order struct {
	Directories []string          // to make first
	Files       map[string]string // to write then
	Group       string            // directory of the group to start the engine in, "" for its own
	Line        []string          // the engine's command line
	Token       string
	Questions   map[string][]string
	Cores       float64 // CPU time that is enough
	Seconds     int     // of each burn
}

// Done is what was found.
type Done struct {
	Inside  Answer
	Outside Run // of snug plan --pid
	Cores   float64
	Eat     Eat
}

// Pid is the process that a container's token names: one whose own command line has it.
// Those that started it are other programs.
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
