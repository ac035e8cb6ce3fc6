// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"log"
	"strings"
	"sync"
	"time"
)

// quiet limits the rate of an HTTP server's log lines, because clients cause them as often as they
// like.
type quiet struct {
	note func(string)
	mu   sync.Mutex
	last time.Time
	held int // lines since then
}

// noteEvery is the minimum time between two notes.
const noteEvery = 10 * time.Second

func quietLog(note func(string)) *log.Logger { return log.New(&quiet{note: note}, "", 0) }

func (q *quiet) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); now.Sub(q.last) < noteEvery {
		q.held++
	} else {
		text := strings.TrimSpace(string(line))
		if q.held > 0 {
			text += fmt.Sprintf(" (and %d more before)", q.held)
		}
		q.last, q.held = now, 0
		q.note(text)
	}
	return len(line), nil
}
