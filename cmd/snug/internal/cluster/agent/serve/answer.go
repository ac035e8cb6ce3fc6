// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"cmp"
	"net/http"
	"strconv"
)

// answer is a whole answer.
type answer struct {
	kind   string // Content-Type; "" is plain text
	text   []byte
	before *made // before text
	failed bool  // 503
	header map[string]string
}

// notNow returns an answer for what may succeed later.
func notNow(why string) answer { return answer{text: []byte(why + "\n"), failed: true} }

func (a answer) size() int {
	if a.before != nil {
		return a.before.size + len(a.text)
	}
	return len(a.text)
}

func (a answer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", cmp.Or(a.kind, "text/plain; charset=utf-8"))
	for key, value := range a.header {
		h.Set(key, value)
	}
	if a.failed {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if a.before == nil {
		_, _ = w.Write(a.text)
		return
	}
	h.Set("Content-Length", strconv.Itoa(a.size()))
	b := bufio.NewWriterSize(w, 64<<10)
	a.before.write(b)
	_, _ = b.Write(a.text)
	_ = b.Flush()
}
