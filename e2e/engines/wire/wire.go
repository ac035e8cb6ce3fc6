// SPDX-License-Identifier: Apache-2.0

// Package wire is what a test asks the program in a container and what it hears back: one
// JSON object for each line.
package wire

// Enough is how many MiB are taken where nothing puts an end to it.
const Enough = 250

// Request is what to do: run, burn, eat or look.
type Request struct {
	Do  string
	Run map[string][]string // command lines by name; a program without a path is inmate's neighbour
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
