// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/top"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

// publish prints an experiment's document, and then writes the other files that the flags
// name. The answer comes first, so that a full disk does not lose it.
func publish(u *ui.UI, l *lab.Lab, d finding.Document) error {
	if err := u.Answer(d); err != nil {
		return err
	}
	err := writeForms(d, form{l.HTML, page.Write, pageHint}, form{l.Benchfmt, report.Benchfmt, linesHint})
	if err == nil && l.Benchfmt != "" {
		u.Note(benchstatNote)
	}
	return err
}

// benchstatNote says why benchstat may call a difference what snug does not.
const benchstatNote = "note: benchstat takes these runs without their rounds, and each setting alone; it may call " +
	"worse or better what snug does not (docs/bench.md)"

// Which documents have which form.
const (
	pageHint  = "only answers of snug bench, tune, trace and size have a page"
	linesHint = "only experiments, of snug bench and snug tune, have this form"
	benchHint = "only experiments of snug bench have this form"
	savedHint = "name a file that a command of snug wrote with --json"
)

// form is a file that a document is also written to, "" = none, - = stdout.
type form struct {
	file   string
	render func(io.Writer, finding.Document) error
	hint   string // if the document does not have this form
}

// bytes renders a document.
func (f form) bytes(d finding.Document) ([]byte, error) {
	var b bytes.Buffer
	if err := f.render(&b, d); err != nil {
		return nil, message.Failed(err.Error(), f.hint)
	}
	return b.Bytes(), nil
}

// writeForms writes a document's forms to their files.
func writeForms(d finding.Document, forms ...form) error {
	for _, f := range forms {
		if f.file == "" {
			continue
		}
		text, err := f.bytes(d)
		if err != nil {
			return err
		}
		if err := outfile.Replace(f.file, text); err != nil {
			return outfile.Failed(err, f.file)
		}
	}
	return nil
}

func NewReport(u *ui.UI) *cobra.Command {
	var html, benchfmt, markdown, baseline string
	var again bool
	cmd := &cobra.Command{
		Use:   "report [--html FILE] [--benchfmt FILE] [--markdown FILE] [--recheck] FILE",
		Short: "Show a saved answer again, as text, a page, or benchstat's input",
		Long: `Show a document that a command of snug wrote with --json, as text or, with --json, as
JSON: unchanged if this version of snug wrote it, otherwise with the fields that this
version has. FILE may be - for standard input, and may be compressed with gzip.

--html writes a self-contained page of a document of snug bench, tune, trace or size.
--benchfmt writes a document of bench or tune in Go's benchmark format. --markdown
writes a document of bench for the comment of a pull request; with --baseline the
figures of an earlier document stand before its own. All others are text and JSON
only. A file of snug top shows one look after the other, as --batch did.`,
		Example: `  snug bench --json > bench.json
  snug report bench.json
  snug report --html report.html bench.json
  snug report --benchfmt runs.txt bench.json && benchstat -col /procs runs.txt
  snug top --json -n 60 server > looks.jsonl; snug report looks.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return message.Usage(cmd.CommandPath()+": takes one file",
					"snug report FILE, where FILE is what a command wrote with --json")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := outfile.Apart(outfile.File{Name: args[0]}, outfile.File{Name: baseline},
				outfile.File{Flag: "--html", Name: html}, outfile.File{Flag: "--benchfmt",
					Name: benchfmt}, outfile.File{Flag: "--markdown", Name: markdown}); err != nil {
				return err
			}
			if html != "-" {
				if err := outfile.Writable("--html", html); err != nil {
					return err
				}
			}
			d, rest, err := readDocument(u, args[0])
			if err != nil {
				return err
			}
			if again {
				if d, err = recheck(d); err != nil {
					return err
				}
			}
			var stored finding.Document
			if baseline != "" {
				if markdown == "" {
					return message.Usage("--baseline "+baseline+": only --markdown shows a baseline",
						"snug report --markdown - --baseline "+message.Quote(baseline)+" "+message.Quote(args[0]))
				}
				if stored, _, err = readDocument(u, baseline); err != nil {
					return err
				}
			}
			forms := []form{{html, page.Write, pageHint}, {benchfmt, report.Benchfmt, linesHint},
				{markdown, func(w io.Writer, d finding.Document) error { return report.Markdown(w, d, stored) }, benchHint}}
			forms = slices.DeleteFunc(forms, func(f form) bool { return f.file == "" })
			if slices.ContainsFunc(forms, func(f form) bool { return f.file == "-" }) {
				return writeForm(u, d, forms)
			}
			if err := writeForms(d, forms...); err != nil {
				return err
			}
			if benchfmt != "" {
				u.Note(benchstatNote)
			}
			if len(forms) > 0 && !u.JSON {
				return nil
			}
			if look, ok := d.(*finding.Watch); ok {
				return replayLooks(u, look, rest, args[0])
			}
			return u.Answer(d)
		},
	}
	cmd.Flags().Var((*flagvalue.Text)(&html), "html", "write a page to `FILE`; - is stdout")
	cmd.Flags().Var((*flagvalue.Text)(&benchfmt), "benchfmt",
		"write the runs to `FILE` in Go's benchmark format; - is stdout")
	cmd.Flags().Var((*flagvalue.Text)(&markdown), "markdown", "write a comment for a pull request to `FILE`; - is stdout")
	cmd.Flags().Var((*flagvalue.Text)(&baseline), "baseline",
		"show the figures of `FILE`, an earlier document, in the comment")
	cmd.Flags().BoolVar(&again, "recheck", false,
		"compute every figure and the verdict of snug bench again from its raw runs")
	u.JSONFlag(cmd.Flags())
	return cmd
}

// writeForm writes the only form to stdout.
func writeForm(u *ui.UI, d finding.Document, forms []form) error {
	if len(forms) > 1 || u.JSON {
		return message.Usage("--html --benchfmt --markdown --json: stdout takes one answer", "give the others a file")
	}
	text, err := forms[0].bytes(d)
	if err != nil {
		return err
	}
	return u.Write(text)
}

// maxDocument is the size of the largest document that snug reads, unpacked, in bytes.
const maxDocument = 256 << 20

// readAll reads a file, "-" for standard input.
func readAll(u *ui.UI, name string) ([]byte, error) {
	l := bounded.Limits{Bytes: maxDocument, Unpacked: maxDocument}
	var src *bounded.Source
	var err error
	if name == "-" {
		src, err = bounded.Wrap(context.Background(), io.NopCloser(u.In), name, l)
	} else {
		src, err = bounded.Open(context.Background(), name, l)
	}
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.All()
}

// readDocument reads a document. If it is the first of several looks of snug top, rest
// holds the lines after it.
func readDocument(u *ui.UI, name string) (d finding.Document, rest []byte, err error) {
	data, err := readAll(u, name)
	if err != nil {
		return nil, nil, message.Failed("cannot read "+err.Error(), savedHint)
	}
	if bytes.HasPrefix(data, []byte(`{"snug":"v1","kind":"record"`)) {
		return nil, nil, message.Failed(name+": a record of runs, not an answer yet",
			"to get the answer, run the command that wrote it again with --record "+message.Quote(name))
	}
	if bytes.HasPrefix(data, []byte(`{"snug":"v1","kind":"`+finding.KindTop+`"`)) {
		d, rest, err = finding.DecodeLine(data)
	} else {
		d, err = finding.Decode(data)
	}
	if err != nil {
		return nil, nil, message.Failed(name+": "+err.Error(), savedHint)
	}
	if v, ok := d.(*finding.Verdict); ok && (v.Limits == nil || v.Plan == nil) {
		return nil, nil, message.Failed(name+": damaged document of kind "+finding.KindVerdict+": a part is missing",
			savedHint)
	}
	if s, ok := d.(*finding.Size); ok && size.Possible(s) != nil {
		return nil, nil, message.Failed(name+": "+size.ErrDamaged.Error(), savedHint)
	}
	return d, rest, nil
}

// replayLooks shows saved looks one after the other. At one that cannot be read it
// returns an error; those before it have been shown.
func replayLooks(u *ui.UI, look *finding.Watch, rest []byte, name string) error {
	view := top.New(top.Options{ASCII: !ui.UTF8Locale(u.Getenv)})
	for n := 1; ; n++ {
		view.Update(look)
		if err := u.Frame(view.Plain, look, n > 1); err != nil {
			return err
		}
		if len(bytes.TrimSpace(rest)) == 0 {
			return nil
		}
		d, after, err := finding.DecodeLine(rest)
		next, ok := d.(*finding.Watch)
		switch {
		case err != nil:
			return message.Failed(name+": only "+units.Plural(n, "look")+" can be read: "+err.Error(),
				"the earlier ones are shown; the file may be truncated")
		case !ok:
			return message.Failed(name+": only "+units.Plural(n, "look")+" and then something else", savedHint)
		}
		look, rest = next, after
	}
}
