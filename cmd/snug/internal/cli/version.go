// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func newVersion(u *ui) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Say which snug this is",
		GroupID: groupPlumbing,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return u.answer(build()) },
	}
	u.jsonFlag(cmd)
	return cmd
}

// build is what the Go toolchain wrote into this binary.
func build() *finding.Build {
	d := &finding.Build{
		Head:    finding.NewHead(finding.KindVersion),
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
