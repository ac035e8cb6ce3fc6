// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/linter"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// sizeFlags holds the flags with which snug lint writes an answer of snug size into a manifest.
type sizeFlags struct {
	file, container flagvalue.Text // "" = none
	write           bool
}

// add adds the flags.
func (f *sizeFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(&f.file, "size",
		"give a container the resources and variables of `FILE`, by snug size --json, and print the difference")
	cmd.Flags().Var(&f.container, "container", "the container that gets them, as `[OBJECT/]NAME`; without it the only one")
	cmd.Flags().BoolVar(&f.write, "write", false, "write them into the file")
}

// check refuses flags that contradict each other.
func (f *sizeFlags) check(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"container", "write"} {
		if f.file == "" && cmd.Flags().Changed(name) {
			return message.Usage("--"+name+" without --size", "name an answer of snug size --json: --size FILE")
		}
	}
	for _, name := range []string{"fix", "fail-on", "json", "format", "sarif", "helm", "kustomize", "render"} {
		if f.file != "" && cmd.Flags().Changed(name) {
			return message.Usage("--size with --"+name, "leave one out")
		}
	}
	if f.file != "" && len(args) == 0 {
		return message.Usage("--size "+message.Quote(string(f.file))+": no manifest",
			"name one: snug lint --size "+message.Quote(string(f.file))+" MANIFEST")
	}
	if f.write && slices.Contains(args, "-") {
		return message.Usage("no file to write, the input is piped in", "name a file, or leave out --write")
	}
	return nil
}

// run writes an answer of snug size into the manifest that args name, or prints the difference.
func (f *sizeFlags) run(u *ui.UI, args []string) error {
	d, err := examine.ReadSize(context.Background(), string(f.file))
	if err != nil {
		return err
	}
	size, why := content.SizeContainerOf(d)
	if why != nil {
		hint := "watch longer: snug size PID --for 10m --json"
		if why.Code == finding.SizeEndless {
			hint = content.SetLimit
		}
		return message.Failed(string(f.file)+": no advice to write: "+content.Reason(why), hint)
	}
	w := manifest.Wanted{
		Requests: []manifest.Pair{{Name: "cpu", Value: size.CPURequest}, {Name: "memory", Value: size.Memory}},
		Limits:   []manifest.Pair{{Name: "cpu", Value: size.CPULimit}, {Name: "memory", Value: size.Memory}},
	}
	if size.GOMEMLIMIT != "" { // else the advice is to leave it alone
		w.Env = append(w.Env, manifest.Pair{Name: "GOMEMLIMIT", Value: size.GOMEMLIMIT})
	}
	if d.ByGo || size.GOMAXPROCS != "" {
		w.Env = append(w.Env, manifest.Pair{Name: "GOMAXPROCS", Value: size.GOMAXPROCS})
	}
	l := linter.New(linter.Options{In: u.In, Note: u.Note})
	if err := l.Gather(args); err != nil {
		return err
	}
	s, err := l.Size(string(f.container), w)
	if err != nil {
		return err
	}
	if f.write {
		if err := l.WriteSize(s); err != nil {
			return err
		}
	}
	for _, line := range content.SizeCaveats(d) {
		u.Note("%s", line)
	}
	if n, ok := d.Seen.GOGC.Get(); ok {
		watched := gogc(n)
		switch has, ok := s.Container.Setting("GOGC"); {
		case has == watched || has == "" && n == 100:
		case ok:
			u.Note("warning: the program was watched with GOGC=%s, and here it has %s, %s", watched, cmp.Or(has, "none"),
				s.Place)
		default:
			u.Note("warning: the program was watched with GOGC=%s, and what it has here is unknown, %s", watched, s.Place)
		}
	}
	has, _ := s.Container.Setting("GOMEMLIMIT")
	if n, ok := units.ParseGoBytes(has); ok && float64(n) > *d.Memory.Value {
		u.Note("warning: GOMEMLIMIT=%s stays, and exceeds the memory limit of %s, %s", has, size.Memory, s.Place)
	} else if ok && size.GOMEMLIMIT == "" && float64(n) < d.Seen.LiveMost.N+d.Seen.Rest.N {
		u.Note("warning: GOMEMLIMIT=%s stays, and what lives needs more: collections would run all the time, %s", has,
			s.Place)
	}
	for i := range s.Left {
		m := &s.Left[i]
		u.Note("warning: lint still finds %s, %s, %s:%d", m.ID, m.Message, s.File, m.At.Line)
	}
	switch {
	case s.Diff == "":
		return u.Write([]byte(message.CleanLines(finding.UTF8(s.File) + ": " + s.Place + " has these values\n")))
	case f.write:
		return u.Write([]byte(message.CleanLines(finding.UTF8(s.File) + ": written, " + s.Place + "\n")))
	}
	u.Note("to write it: --write")
	return u.Write([]byte(message.CleanLines(s.Diff)))
}

// gogc formats a GOGC; -1 = off.
func gogc(n int) string {
	if n < 0 {
		return "off"
	}
	return strconv.Itoa(n)
}
