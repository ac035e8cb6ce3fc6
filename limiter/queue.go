// SPDX-License-Identifier: Apache-2.0

package limiter

// waiter is a waiting call of Acquire. Limiter.mu guards all fields but ready.
type waiter struct {
	ready      chan struct{} // closed when it has a permit
	queued     bool
	prev, next *waiter
}

// queue is a first-in-first-out list that allows removal from the middle.
type queue struct {
	first, last *waiter
}

func (q *queue) push(w *waiter) {
	w.queued = true
	if w.prev = q.last; w.prev == nil {
		q.first = w
	} else {
		w.prev.next = w
	}
	q.last = w
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
}

// pop removes the first waiter and wakes it. The queue must not be empty.
func (q *queue) pop() {
	w := q.first
	q.remove(w)
	close(w.ready)
}
