// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && startsignals

package inherit

import _ "unsafe" // for go:linkname

// fwdSig holds the handler of each signal when this process began, and initSigmask what its
// first thread blocked then (runtime/signal_unix.go, initsig; runtime/proc.go,
// schedinit). The runtime exports neither, so this file is part
// only in builds that ask for it:
//
//	go install -tags startsignals -ldflags=-checklinkname=0 …
//
// which is how releases are built. TestSignals fails if a new Go has other variables.

//go:linkname fwdSig runtime.fwdSig
var fwdSig [65]uintptr

//go:linkname initSigmask runtime.initSigmask
var initSigmask [2]uint32

const sigIgnored = 1 // SIG_IGN

// AtStart returns the ignored and blocked signals that this process started with.
func AtStart() (s Signals) {
	for n, handler := range fwdSig {
		if n > 0 && handler == sigIgnored {
			s.Ignored |= 1 << (n - 1)
		}
	}
	s.Blocked = uint64(initSigmask[1])<<32 | uint64(initSigmask[0])
	return s
}
