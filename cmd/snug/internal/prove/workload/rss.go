// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// feed generates RSS 2.0 documents that are always the same.
type feed struct {
	body  []byte // of every document: the items and the end
	items int
	hits  int // items with the word
}

// theWord is the word to find in the documents; no other word contains it.
const theWord = "harbour"

// hitEvery: one of this many items has the word.
const hitEvery = 24

var vocabulary = strings.Fields(`
	after again along always among answer around autumn balance basket before began beside
	better between bread bridge bring bright broken candle carried castle change children city
	clear cloud coast colour common company copper corner country course cover current danger
	early earth empty engine evening example family farther figure finger follow forest forward
	friend garden gather gentle glass ground harvest hollow horse hundred island journey kitchen
	ladder language leather letter listen little lively lantern machine market matter measure
	meeting middle minute morning mountain narrow nothing number office orange outside paper
	people picture plain pocket pretty quarter quiet rather reason record rescue river rough
	salt season second shadow shallow silver simple single sister slowly small spring station
	stone storm strange street summer table thought through timber toward travel under until
	valley village voice wander warm water weather window winter wonder yellow`)

// newFeed returns documents of size bytes, rounded up to a whole item.
func newFeed(size int) *feed {
	f := &feed{}
	r := rand.New(rand.NewPCG(2, 8))
	var b bytes.Buffer
	text := func(words int, last string) string {
		var s strings.Builder
		for range words {
			s.WriteString(vocabulary[r.IntN(len(vocabulary))])
			s.WriteByte(' ')
		}
		return s.String() + last
	}
	for b.Len() < size {
		title, story := "", ""
		switch f.items % (2 * hitEvery) {
		case 3:
			title = theWord
			f.hits++
		case 3 + hitEvery:
			story = theWord + " &amp; sea" // an entity is decoded
			f.hits++
		}
		fmt.Fprintf(&b, "<item>\n<title>%s</title>\n<link>http://news.example/story/%d?from=feed&amp;no=%[2]d</link>\n"+
			"<guid isPermaLink=\"false\">urn:story:%[2]d</guid>\n<category>%s</category>\n<pubDate>Mon, 02 Nov 2026 "+
			"%02d:%02d:00 GMT</pubDate>\n"+
			"<description><![CDATA[<p>%s</p>]]>%s</description>\n</item>\n",
			text(7, title), f.items, text(1, ""), f.items/60%24, f.items%60, text(90, ""), story)
		f.items++
	}
	b.WriteString("</channel>\n</rss>\n")
	f.body = b.Bytes()
	return f
}

// document returns document i in newly allocated memory, as reading a file would.
func (f *feed) document(i int) []byte {
	head := `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<rss version="2.0">` + "\n<channel>\n<title>Feed " +
		strconv.Itoa(i) + "</title>\n<link>http://news.example/</link>\n<description>All the news of the day</description>\n"
	doc := make([]byte, 0, len(head)+len(f.body))
	return append(append(doc, head...), f.body...)
}
