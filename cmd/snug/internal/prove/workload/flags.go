// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// option is one flag: how to parse it into Options, and how to format it from them (""
// leaves the default).
type option struct {
	bind  func(*flag.FlagSet, *Options)
	value func(Options) string
}

var options = map[string]option{
	"warm": {
		func(fs *flag.FlagSet, o *Options) { fs.DurationVar(&o.Warm, "warm", o.Warm, "how long to warm up") },
		func(o Options) string { return duration(o.Warm) }},
	"window": {
		func(fs *flag.FlagSet, o *Options) { fs.DurationVar(&o.Window, "window", o.Window, "how long to work") },
		func(o Options) string { return duration(o.Window) }},
	"trace": {
		func(fs *flag.FlagSet, o *Options) {
			fs.StringVar(&o.Trace, "trace", o.Trace, "`file` for an execution trace of the work")
		},
		func(o Options) string { return o.Trace }},
	"addr": {
		func(fs *flag.FlagSet, o *Options) { fs.StringVar(&o.Addr, "addr", o.Addr, "`host:port` to listen on") },
		func(o Options) string { return o.Addr }},
	"until-eof": {
		func(fs *flag.FlagSet, o *Options) {
			fs.BoolVar(&o.UntilEOF, "until-eof", o.UntilEOF, "end when stdin does")
		},
		func(o Options) string {
			if o.UntilEOF {
				return "true"
			}
			return ""
		}},
	"threads":   number("threads", "how many threads spin; 0: GOMAXPROCS", func(o *Options) *int { return &o.Threads }),
	"ops":       number("ops", "how many tasks", func(o *Options) *int { return &o.Ops }),
	"docs":      number("docs", "how many documents", func(o *Options) *int { return &o.Docs }),
	"doc-bytes": number("doc-bytes", "size of a document", func(o *Options) *int { return &o.DocBytes }),
	"workers":   number("workers", "how many goroutines", func(o *Options) *int { return &o.Workers }),
	"most":      number("most", "how many goroutines at once", func(o *Options) *int { return &o.Most }),
	"work": {
		func(fs *flag.FlagSet, o *Options) { fs.DurationVar(&o.Work, "work", o.Work, "CPU time of a burst") },
		func(o Options) string { return duration(o.Work) }},
	"every": {
		func(fs *flag.FlagSet, o *Options) {
			fs.DurationVar(&o.Every, "every", o.Every, "from one burst to the next")
		},
		func(o Options) string { return duration(o.Every) }},
}

func number(name, usage string, field func(*Options) *int) option {
	return option{
		func(fs *flag.FlagSet, o *Options) { fs.IntVar(field(o), name, *field(o), usage) },
		func(o Options) string {
			if n := *field(&o); n != 0 {
				return strconv.Itoa(n)
			}
			return ""
		}}
}

func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// all returns the names of e's flags, and the defaults.
func (e entry) all() ([]string, Options) {
	o := e.defaults
	var names []string
	switch e.kind {
	case service:
		names = []string{"addr", "until-eof"}
		o.Addr = "127.0.0.1:0"
	case windowed:
		names = []string{"warm", "window", "trace"}
		o.Warm, o.Window = time.Second, 4*time.Second
	case batch:
		names = []string{"warm", "trace"}
		o.Warm = time.Second
	}
	return append(names, e.flags...), o
}

// Args returns the arguments, without the program's name, that make the snug binary the
// workload.
func Args(name string, o Options) []string {
	args := []string{"workload", name}
	e, _ := find(name)
	names, _ := e.all()
	for _, n := range names {
		if v := options[n].value(o); v != "" {
			args = append(args, "--"+n+"="+v)
		}
	}
	return args
}

// parse is the inverse of Args.
func (e entry) parse(args []string) (Options, error) {
	names, o := e.all()
	fs := flag.NewFlagSet(e.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, n := range names {
		options[n].bind(fs, &o)
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	for _, n := range names {
		// These may be absent.
		if options[n].value(o) == "" && n != "until-eof" && n != "threads" && n != "warm" && n != "trace" {
			return o, fmt.Errorf("--%s must not be zero", n)
		}
	}
	if slices.Min([]int{int(o.Warm), int(o.Window), int(o.Work), int(o.Every), o.Threads, o.Ops, o.Docs, o.DocBytes, o.Workers, o.Most}) < 0 {
		return o, errors.New("a value is negative")
	}
	return o, nil
}
