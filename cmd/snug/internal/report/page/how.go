// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Sentence capitalises the first letter of a text, unless it begins with the name of a
// program or variable.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(s, " ")
	if !unicode.IsLower(r) || strings.ContainsAny(word, "/=._;") {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// howView holds what the template says about how an experiment was measured.
type howView struct {
	*finding.Setup
	Windowed bool // each round is measured for a fixed time
	Nothing  bool
	Late     [2]float64 // of requests in seconds: the P99 of the latest run, and the latest of all
}

func how(s *finding.Setup, cells []finding.Cell) *howView {
	v := &howView{Setup: s, Windowed: content.Windowed(s, cells), Nothing: len(cells) == 0 && s.Rounds == 0}
	for i := range cells {
		for k := range cells[i].Rounds {
			if r := &cells[i].Rounds[k]; r.Generator != nil && r.Invalid == "" {
				if a, b := r.Generator.LatenessP99, r.Generator.LatenessMax; a != nil && b != nil {
					v.Late = [2]float64{max(v.Late[0], *a), max(v.Late[1], *b)}
				}
			}
		}
	}
	return v
}

// Name returns the name of a measured program.
func (v *howView) Name(workload string) string { return content.ProgramName(v.Setup, workload) }

// maxJSON is the maximum size in bytes of JSON that a page shows besides the download.
const maxJSON = 1 << 20

// embed puts the document into the page.
func (v *view) embed(d finding.Document) error {
	data, err := finding.Encode(d)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = z.Write(data)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	v.Data = template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(packed.Bytes()))
	v.Size, v.Full = units.Bytes(int64(packed.Len())), units.Bytes(int64(len(data)))
	if len(data) <= maxJSON {
		v.JSON = string(data)
	}
	return nil
}
