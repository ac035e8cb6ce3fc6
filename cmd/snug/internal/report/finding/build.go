// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"runtime"
	"runtime/debug"
)

// NewBuild returns what the Go toolchain recorded in this binary.
func NewBuild() *Build {
	d := &Build{
		Head:    NewHead(KindVersion),
		Version: "devel",
		Go:      runtime.Version(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		d.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Commit = &s.Value
		case "vcs.modified":
			d.Changed = s.Value == "true"
		}
	}
	return d
}
