// SPDX-License-Identifier: Apache-2.0

package golog

import "bytes"

// cursor reads text from left to right. After the first mismatch it has failed and
// reads nothing more.
type cursor struct {
	b      []byte
	at     int
	failed bool
}

func (c *cursor) rest() []byte { return c.b[c.at:] }

// optional reads s if it comes next.
func (c *cursor) optional(s string) bool {
	if c.failed || !bytes.HasPrefix(c.rest(), []byte(s)) {
		return false
	}
	c.at += len(s)
	return true
}

// word reads s.
func (c *cursor) word(s string) {
	if !c.optional(s) {
		c.failed = true
	}
}

// arrow reads "->", which Docker's json-file log escapes.
func (c *cursor) arrow() {
	if !c.optional("->") {
		c.word(`-\u003e`)
	}
}

// number reads a decimal number of at most limit.
func (c *cursor) number(limit int64) int64 {
	n, digits := int64(0), 0
	for !c.failed && c.at < len(c.b) && '0' <= c.b[c.at] && c.b[c.at] <= '9' {
		d := int64(c.b[c.at] - '0')
		if n > (limit-d)/10 {
			c.failed = true
			return 0
		}
		n = n*10 + d
		digits++
		c.at++
	}
	if digits == 0 {
		c.failed = true
	}
	return n
}

// decimal reads digits, optionally followed by a point and up to nine digits, as
// written by the runtime's itoaDiv and fmtNSAsMS.
func (c *cursor) decimal(limit int64) float64 {
	f := float64(c.number(limit))
	if !c.optional(".") {
		return f
	}
	from := c.at
	part := c.number(1e9 - 1)
	scale := 1.0
	for range c.at - from {
		scale *= 10
	}
	return f + float64(part)/scale
}
