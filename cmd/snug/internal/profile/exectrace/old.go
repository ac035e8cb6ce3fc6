// SPDX-License-Identifier: Apache-2.0

package exectrace

import "encoding/binary"

// Events of the format of Go 1.21 and earlier (runtime/trace.go of Go 1.21).
const (
	oldBatch      = 1 // P, time; the times that follow count from this time
	oldGomaxprocs = 4
	oldString     = 37 // number, length, text
	oldUserLog    = 48 // a length and a text follow
	oldCPUSample  = 49 // has an absolute time
)

// oldProcs returns GOMAXPROCS at the start of a trace in the format of Go 1.21 and
// earlier; 0 if it is missing. Package trace uses the event itself and does not pass it
// on.
//
// An event begins with a byte: the lower six bits are its type, the upper two the number
// of its arguments less one; 3 means that the length of the arguments follows. Then come
// the arguments as varints. The first argument is the time since the previous event of
// the batch.
func oldProcs(data []byte) int {
	data = data[min(16, len(data)):]
	value := func() (uint64, bool) {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return 0, false
		}
		data = data[n:]
		return v, true
	}
	skip := func() bool {
		n, ok := value()
		if !ok || n > uint64(len(data)) {
			return false
		}
		data = data[n:]
		return true
	}
	var now, first, procs uint64
	for len(data) > 0 {
		kind, count := data[0]&63, int(data[0]>>6)+1
		data = data[1:]
		if kind == oldString {
			if _, ok := value(); !ok || !skip() {
				break
			}
			continue
		}
		var args [3]uint64
		if count > len(args) {
			n, ok := value()
			if !ok || n > uint64(len(data)) {
				break
			}
			rest := data[n:]
			for i := range args {
				args[i], _ = value()
			}
			data = rest
		} else {
			for i := range count {
				v, ok := value()
				if !ok {
					return int(min(procs, maxProcs))
				}
				args[i] = v
			}
		}
		switch kind {
		case oldBatch:
			now = args[1]
		case oldCPUSample:
		default:
			now += args[0]
		}
		if kind == oldGomaxprocs && (procs == 0 || now < first) {
			first, procs = now, args[1]
		}
		if kind == oldUserLog && !skip() {
			break
		}
	}
	return int(min(procs, maxProcs))
}
