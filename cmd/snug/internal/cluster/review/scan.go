// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
)

// scanner goes once through a text in JSON (RFC 8259) and stops for what is asked of it.
// Nine tenths of a question are of no interest, and to check and decode them as
// encoding/json does takes most of the time of an answer. So what is passed over is only
// looked at for where it ends; keys count as they are written, and the last of two that
// are the same.
//
// Its methods take the value that comes next. One of another kind than asked for is
// passed over and makes the text wrong; null is the zero value. After a text that breaks
// off, or is no JSON where it was looked at, nothing comes any more, and it is wrong.
type scanner struct {
	text  []byte
	at    int
	wrong bool

	containersRead, writtenRead int // in all lists of them
}

// fail ends the text.
func (s *scanner) fail() {
	s.wrong = true
	s.at = len(s.text)
}

// peek is the first byte of what comes next, white space left out; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take takes one byte if it comes next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// null takes a null.
func (s *scanner) null() bool {
	if s.peek() != 'n' || !bytes.HasPrefix(s.text[s.at:], []byte("null")) {
		return false
	}
	s.at += len("null")
	return true
}

// members calls each for the members of an object, which has to take or skip the value.
// It tells whether there is an object.
func (s *scanner) members(each func(key []byte)) bool {
	if !s.take('{') {
		s.other()
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		if s.peek() != '"' {
			s.fail()
			return false
		}
		key := s.bytes()
		if !s.take(':') {
			s.fail()
			return false
		}
		each(key)
		if s.take(',') {
			continue
		}
		if !s.take('}') {
			s.fail()
			return false
		}
		return true
	}
}

// items calls each for the elements of a list, and tells whether there is one.
func (s *scanner) items(each func()) bool {
	if !s.take('[') {
		s.other()
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		each()
		if s.take(',') {
			continue
		}
		if !s.take(']') {
			s.fail()
			return false
		}
		return true
	}
}

// string is a text.
func (s *scanner) string() string { return string(s.bytes()) }

// bytes is a text; it holds as long as what is scanned.
func (s *scanner) bytes() []byte {
	if s.peek() != '"' {
		s.other()
		return nil
	}
	begin := s.at + 1
	for i := begin; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[begin:i:i]
		case c == '\\' || c < ' ' || c >= 0x80:
			return s.quoted()
		}
	}
	s.fail()
	return nil
}

// quoted is a text that does not stand for itself.
func (s *scanner) quoted() []byte {
	begin := s.at
	s.skipString()
	var text string
	if json.Unmarshal(s.text[begin:s.at], &text) != nil {
		s.fail()
		return nil
	}
	return []byte(text)
}

// bool is true or false.
func (s *scanner) bool() bool {
	for _, word := range [...]string{"true", "false"} {
		if s.peek() == word[0] && bytes.HasPrefix(s.text[s.at:], []byte(word)) {
			s.at += len(word)
			return word == "true"
		}
	}
	s.other()
	return false
}

// other takes what is not of the kind that was asked for.
func (s *scanner) other() {
	if !s.null() {
		s.wrong = true
		s.skip()
	}
}

// skip takes any value.
func (s *scanner) skip() {
	depth := 0
	for {
		switch s.peek() {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth--; depth < 0 {
				s.fail()
				return
			}
			s.at++
		case ',', ':':
			if depth == 0 {
				s.fail()
				return
			}
			s.at++
		case 0:
			s.fail()
			return
		default:
			for s.at++; s.at < len(s.text); s.at++ { // a number, or a word
				if c := s.text[s.at]; c <= ' ' || c == ',' || c == ']' || c == '}' || c == ':' {
					break
				}
			}
		}
		if depth == 0 || s.at >= len(s.text) {
			s.wrong = s.wrong || depth > 0
			return
		}
	}
}

func (s *scanner) skipString() {
	for i := s.at + 1; ; {
		n := bytes.IndexByte(s.text[i:], '"')
		if n < 0 {
			s.fail()
			return
		}
		i += n + 1
		quotes := 0 // before the quotation mark
		for j := i - 2; j > s.at && s.text[j] == '\\'; j-- {
			quotes++
		}
		if quotes%2 == 0 {
			s.at = i
			return
		}
	}
}

// end tells whether there is nothing more, and all was as asked for.
func (s *scanner) end() bool { return s.peek() == 0 && s.at == len(s.text) && !s.wrong }
