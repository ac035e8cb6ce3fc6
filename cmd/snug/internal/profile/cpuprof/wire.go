// SPDX-License-Identifier: Apache-2.0

package cpuprof

import "encoding/binary"

// Fields of a Profile message, and of its messages, that hold messages or texts
// (github.com/google/pprof/proto/profile.proto).
const (
	fieldSample   = 2
	fieldMapping  = 3
	fieldLocation = 4
	fieldFunction = 5
	fieldString   = 6

	sampleLabel  = 3
	locationLine = 4
)

// Their memory once decoded, in bytes, rounded up: the structs of package profile, the pointers
// to them, and slices that grow to twice their length.
const (
	costMessage = 256
	costLabel   = 512 // two maps for the sample, an entry in one
	costLine    = 96
	costNumber  = 48 // an id or a value of a sample, and what it resolves to
	costString  = 64
)

// decodedSize estimates the memory of a profile once decoded, in bytes, without
// decoding it. It returns false if the data is not valid messages.
func decodedSize(data []byte) (size int64, ok bool) {
	ok = fields(data, func(number uint64, kind byte, body []byte) bool {
		if kind != wireBytes {
			size += costNumber
			return true
		}
		switch number {
		case fieldSample:
			size += costMessage
			return fields(body, func(number uint64, kind byte, body []byte) bool {
				switch {
				case kind != wireBytes:
					size += costNumber
				case number == sampleLabel:
					size += costLabel
				default: // packed: each number takes one byte or more
					size += costNumber * int64(len(body))
				}
				return true
			})
		case fieldLocation:
			size += costMessage
			return fields(body, func(number uint64, kind byte, body []byte) bool {
				if number == locationLine {
					size += costLine
				}
				return true
			})
		case fieldString:
			size += costString + int64(len(body))
		case fieldMapping, fieldFunction:
			size += costMessage
		default: // value types, and packed comments
			size += costMessage + costNumber*int64(len(body))
		}
		return true
	})
	return size, ok
}

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireFixed4 = 5
)

// fields calls f for the fields of a message, until f returns false. body is set for fields of
// bytes. fields returns false if f did, or if the data is not a valid message.
func fields(data []byte, f func(number uint64, kind byte, body []byte) bool) bool {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return false
		}
		data = data[n:]
		kind := byte(tag & 7)
		var body []byte
		switch kind {
		case wireVarint:
			if _, n = binary.Uvarint(data); n <= 0 {
				return false
			}
		case wireFixed8:
			n = 8
		case wireFixed4:
			n = 4
		case wireBytes:
			length, m := binary.Uvarint(data)
			if m <= 0 || length > uint64(len(data)-m) {
				return false
			}
			n = m + int(length)
			body = data[m:n]
		default:
			return false
		}
		if n > len(data) {
			return false
		}
		data = data[n:]
		if !f(tag>>3, kind, body) {
			return false
		}
	}
	return true
}
