// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"log"
	"strings"
	"sync"
	"time"
)

// quiet passes a line on now and then: what an HTTP server complains of, others cause,
// as often as they please.
type quiet struct {
	note func(string)
	mu   sync.Mutex
	last time.Time
	kept int // lines since then
}

// noteEvery is the time between two complaints.
const noteEvery = 10 * time.Second

func quietLog(note func(string)) *log.Logger { return log.New(&quiet{note: note}, "", 0) }

func (q *quiet) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); now.Sub(q.last) < noteEvery {
		q.kept++
	} else {
		text := strings.TrimSpace(string(line))
		if q.kept > 0 {
			text += fmt.Sprintf(" (and %d more before)", q.kept)
		}
		q.last, q.kept = now, 0
		q.note(text)
	}
	return len(line), nil
}
