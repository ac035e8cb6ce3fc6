// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"io"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
)

// symbols maps addresses of a process to names.
type symbols struct {
	file *gobin.File
	bias uint64
	exe  io.Closer
}

// OpenSymbols opens the executable of a process.
func OpenSymbols(p *proc.Process) (*symbols, error) {
	entry, err := p.AuxEntry()
	if err != nil {
		return nil, err
	}
	exe, _, err := p.OpenExe()
	if err != nil {
		return nil, err
	}
	info, err := exe.Stat()
	if err != nil {
		exe.Close()
		return nil, err
	}
	file, err := gobin.Open(exe, info.Size())
	if err != nil {
		exe.Close()
		return nil, err
	}
	s := &symbols{file: file, bias: entry - file.Entry, exe: exe}
	if mem, err := p.Memory(); err == nil {
		if live, err := gobin.OpenLive(exe, info.Size(), mem, s.bias); err == nil {
			s.file = live
		}
	}
	return s, nil
}

// Err returns the first error of reading: functions that it does not name may be Go's.
func (s *symbols) Err() error { return s.file.Err() }

func (s *symbols) Close() { s.exe.Close() }

// Frames implements cpuprof.Symbolizer.
func (s *symbols) Frames(pc uint64) []cpuprof.Frame {
	var buf [8]gobin.Frame
	frames := s.file.Frames(buf[:0], pc-s.bias)
	out := make([]cpuprof.Frame, len(frames))
	for i, f := range frames {
		out[i] = cpuprof.Frame{Function: f.Symbol, File: f.File, Line: f.Line, Inlined: f.Inlined, Start: f.Start,
			Wrapper: f.Wrapper}
	}
	return out
}
