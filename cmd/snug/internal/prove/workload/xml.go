// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// reader parses RSS documents with encoding/xml and counts the items that contain a word.
// The documents are generated in memory: this measures parsing and allocation, not
// reading files.
type reader struct {
	options Options
	how     func(*reader) ([]parsed, error)
	feed    *feed
}

// story is an item of a document.
type story struct {
	Title       string `xml:"title"`
	Link        string `xml:"link"`
	GUID        string `xml:"guid"`
	Category    string `xml:"category"`
	Date        string `xml:"pubDate"`
	Description string `xml:"description"`
}

// parsed is the result of parsing a document.
type parsed struct {
	items, hits int
	keep        []story // stories to keep alive; nil if they are garbage
}

func (x *reader) prepare() error {
	x.feed = newFeed(x.options.DocBytes)
	return nil
}

func (x *reader) warm(d time.Duration) error {
	for begin := time.Now(); ; {
		if _, err := x.parse(0); err != nil {
			return err
		}
		if time.Since(begin) >= d {
			return nil
		}
	}
}

func (x *reader) measure(_ time.Duration, r *record) error {
	all, err := x.how(x)
	if err != nil {
		return err
	}
	var items, hits int
	for _, p := range all {
		items += p.items
		hits += p.hits
	}
	n := x.options.Docs
	if len(all) != n || items != n*x.feed.items || hits != n*x.feed.hits {
		return fmt.Errorf("%d documents, %d items, %d hits; want %d, %d, %d", len(all), items, hits, n, n*x.feed.items,
			n*x.feed.hits)
	}
	r.ops = int64(n)
	r.counts = map[string]int64{"items": int64(items), "hits": int64(hits),
		"bytes": int64(n) * int64(len(x.feed.document(0)))}
	return nil
}

// parse parses document i.
func (x *reader) parse(i int) (parsed, error) {
	dec := xml.NewDecoder(bytes.NewReader(x.feed.document(i)))
	var p parsed
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return p, fmt.Errorf("document %d: %w", i, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "item" {
			continue
		}
		var s story
		if err := dec.DecodeElement(&s, &start); err != nil {
			return p, fmt.Errorf("document %d: %w", i, err)
		}
		p.keep = append(p.keep, s)
	}
	p.items = len(p.keep)
	for _, s := range p.keep {
		if strings.Contains(s.Title, theWord) || strings.Contains(s.Description, theWord) {
			p.hits++
		}
	}
	return p, nil
}

func allAtOnce(x *reader) ([]parsed, error) {
	all, errs := make([]parsed, x.options.Docs), make([]error, x.options.Docs)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i], errs[i] = x.parse(i) })
	}
	wg.Wait()
	return all, cmp.Or(errs...)
}

func byWorkers(x *reader) ([]parsed, error) {
	all, errs := make([]parsed, x.options.Docs), make([]error, x.options.Docs)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range x.options.Workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				all[i], errs[i] = x.parse(i)
				all[i].keep = nil
			}
		})
	}
	wg.Wait()
	return all, cmp.Or(errs...)
}
