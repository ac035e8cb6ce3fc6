// SPDX-License-Identifier: Apache-2.0

package engines

// layout is one way in which a container's cgroups are mounted.
type layout struct {
	name, engine string
	flags        string // what the engine is told
	setup        string // what is done inside first, by a shell
	// What the kernel gives: cores and MiB, 0 where there is no limit.
	cpu    float64
	memory int
	// How much of it the container is shown.
	cpuShown, memoryShown shown
}

// shown is what can be read in a container.
type shown int

const (
	all    shown = iota
	nought       // nothing: to say so is right, too
	own          // the container's own group, whose limit is not the tightest: to say there is none is right
)

// The limits of most layouts.
const (
	cores     = 0.2
	mebibytes = 100
)

var layouts = []layout{
	{name: "docker, private", engine: "docker", flags: "--cgroupns private", cpu: cores, memory: mebibytes},
}
