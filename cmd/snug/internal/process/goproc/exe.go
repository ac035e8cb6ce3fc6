// SPDX-License-Identifier: Apache-2.0

// Package goproc reads Go programs and processes: which Go built a file, whether that Go reads
// its container's limits, and the figures of the runtime in a running process.
package goproc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/internal/plan"
)

// Exe holds what is known about an executable file.
type Exe struct {
	// IsGo is false for a file that is not a Go program. What then says what it is: "a script
	// for /bin/sh", "an ELF program", "empty", ...
	IsGo bool
	What string

	// GoVersion is the toolchain's version as recorded in the file: "go1.26.8",
	// "go1.28-devel_1a2b3c4 ..."; "" = not recorded.
	GoVersion string
	// Minor is 26 for Go 1.26.x and for its development versions; 0 = unknown.
	Minor int
	// Main is the path of the main package; "" = unknown.
	Main string
	// GODEBUG holds the settings built into the program by its go line and its go:debug lines;
	// nil = unknown.
	GODEBUG map[string]string

	// Stripped reports that the file has no symbol table, as is usual for distributed programs.
	Stripped bool

	// Narrow reports a 32-bit program in ELF, whose address space is 4 GiB or less.
	Narrow bool

	// Versions of linked modules that set GOMAXPROCS or GOMEMLIMIT themselves; "" = not linked,
	// "(devel)" = version unknown.
	Automaxprocs, Automemlimit, Snug string
}

// ReadExe reads an executable file. The error is one of opening or reading it; a file that is
// not a Go program is not an error.
func ReadExe(path string) (Exe, error) {
	// Stat before opening: opening a device may have an effect.
	if info, err := os.Stat(path); err != nil {
		return Exe{}, err
	} else if info.IsDir() {
		return Exe{What: "a directory"}, nil
	} else if !info.Mode().IsRegular() {
		return Exe{What: "a special file"}, nil
	}
	f, err := open(path)
	if err != nil {
		return Exe{}, err
	}
	defer f.Close()
	return ReadExeAt(f)
}

const notGo = " program that Go did not build"

// maxRead bounds how much of a file is read, in bytes. The position of the build information is
// usually known. If not, it is searched for, and a hostile file may be gigabytes of zeros.
const maxRead = 64 << 20

var (
	errTooMuch = fmt.Errorf("not searched beyond %d MiB", maxRead>>20)
	errCut     = errors.New("cut off: its headers point behind its end")
)

// frugal is a file from which only a limited number of bytes can be read.
type frugal struct {
	r    io.ReaderAt
	left int
	err  error // the first of reading
	cut  bool  // an ELF file is shorter than its headers say
}

func (f *frugal) ReadAt(p []byte, off int64) (int, error) {
	n, err := 0, errTooMuch
	if len(p) <= f.left {
		n, err = f.r.ReadAt(p, off)
		f.left -= n
	}
	if err != nil && err != io.EOF {
		f.err = cmp.Or(f.err, err)
	}
	f.cut = f.cut || n < len(p) && off > 0 // behind the ELF header, only what it names is read
	return n, err
}

// ReadExeAt is ReadExe for an open file. What a failed read would have shown is unknown, so any is an error.
func ReadExeAt(r io.ReaderAt) (Exe, error) {
	f := &frugal{r: r, left: maxRead}
	e := readExe(f)
	if f.cut && e.What == "an ELF"+notGo {
		f.err = cmp.Or(f.err, errCut)
	}
	if err := f.err; err != nil {
		if p := new(fs.PathError); errors.As(err, &p) {
			err = p.Err
		}
		return Exe{}, fmt.Errorf("%w, so it is unknown whether Go built it", err)
	}
	return e, nil
}

func readExe(r io.ReaderAt) Exe {
	head := make([]byte, 256)
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	narrow := bytes.HasPrefix(head, []byte("\x7fELF\x01")) // ELFCLASS32, elf(5)
	sections, goes, symbols := goSections(r)
	if sections && !goes {
		if byGccgo(r) {
			return Exe{What: "an ELF" + gccgoBuilt}
		}
		return Exe{What: sniff(head)}
	}
	if info := recorded(r); info != nil {
		e := fromBuildInfo(info)
		e.Stripped, e.Narrow = sections && !symbols, narrow
		if len(info.Deps) == 0 {
			e.byNames(r)
		}
		return e
	}
	if goes {
		// Go built it, but the build information was removed or never written.
		e := Exe{IsGo: true, Stripped: !symbols, Narrow: narrow}
		e.byNames(r)
		return e
	}
	return Exe{What: sniff(head)}
}

// Foreign reads the build information of programs that are not ELF; nil = none is read. snug sets
// it to debug/buildinfo.Read, which snug-run does without.
var Foreign func(io.ReaderAt) (*debug.BuildInfo, error)

// recorded returns what the go command recorded in a program; nil = nothing.
func recorded(r io.ReaderAt) *debug.BuildInfo {
	if h, err := gobin.ReadHeaders(r); err == nil {
		return h.BuildInfo(r)
	}
	if Foreign == nil {
		return nil
	}
	info, err := Foreign(r)
	if err != nil {
		return nil
	}
	return info
}

// maxText and maxSettings bound what is kept of one recorded text, in bytes: a file may claim anything. All settings
// that Go has take some hundred bytes.
const maxText, maxSettings = 256, 4096

// clip returns the beginning of a recorded text, and keeps nothing else of it alive.
func clip(s string, most int) string { return strings.Clone(s[:min(len(s), most)]) }

// fromBuildInfo returns what the go command recorded in a program.
func fromBuildInfo(info *debug.BuildInfo) Exe {
	e := Exe{IsGo: true, GoVersion: clip(info.GoVersion, maxText), Main: clip(info.Path, maxText)}
	e.Minor, _ = ParseVersion(info.GoVersion)
	for _, s := range info.Settings {
		if s.Key == "DefaultGODEBUG" {
			e.GODEBUG = parseGODEBUG(clip(s.Value, maxSettings))
		}
	}
	version := func(m *debug.Module) string {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return "(devel)"
		}
		return clip(m.Version, maxText)
	}
	for _, m := range info.Deps {
		switch {
		case m.Path == "go.uber.org/automaxprocs":
			e.Automaxprocs = version(m)
		case m.Path == "github.com/KimMachineGun/automemlimit":
			e.Automemlimit = version(m)
		case m.Path == "github.com/snug-go/snug":
			e.Snug = version(m)
		}
	}
	return e
}

// noVersion is the version of a module that is known only from the names of its functions.
const noVersion = "(version unknown)"

// byNames finds modules by the names of linked functions. A program built without modules, as
// all of Debian's are, lists no modules. A stripped program keeps the names of functions in the
// line table (runtime/symtab.go, pcHeader).
func (e *Exe) byNames(r io.ReaderAt) {
	f, err := gobin.ReadHeaders(r)
	if err != nil {
		return
	}
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		table := io.NewSectionReader(r, int64(min(s.Off, 1<<62)), int64(min(s.Size, 1<<62)))
		head := make([]byte, 64)
		if _, err := table.ReadAt(head, 0); err != nil || head[7] != 8 {
			return
		}
		// magic, two zeros, minimum instruction, pointer size; then nfunc, nfiles, since
		// Go 1.18 textStart, and the offsets of the names and of what follows them.
		at := 24
		switch magic := f.Order.Uint32(head); magic {
		case 0xfffffff0, 0xfffffff1:
			at = 32
		case 0xfffffffa: // Go 1.16 and 1.17
		default:
			return
		}
		from, to := f.Order.Uint64(head[at:]), f.Order.Uint64(head[at+8:])
		if from > to || to > s.Size || to-from > maxRead {
			return
		}
		names := make([]byte, to-from)
		if _, err := table.ReadAt(names, int64(from)); err != nil {
			return
		}
		// A copy in the program's own tree (vendor/) has a path before the name.
		if bytes.Contains(names, []byte("go.uber.org/automaxprocs/maxprocs.Set\x00")) {
			e.Automaxprocs = cmp.Or(e.Automaxprocs, noVersion)
		}
		if bytes.Contains(names, []byte("github.com/KimMachineGun/automemlimit/memlimit.SetGoMemLimit")) {
			e.Automemlimit = cmp.Or(e.Automemlimit, noVersion)
		}
		return
	}
}

// Setters lists the linked modules that set GOMAXPROCS or GOMEMLIMIT at start, as "path
// version".
func (e *Exe) Setters() []string {
	list := []string{}
	for _, m := range [...]struct{ path, version string }{
		{"github.com/KimMachineGun/automemlimit", e.Automemlimit},
		{"github.com/snug-go/snug", e.Snug},
		{"go.uber.org/automaxprocs", e.Automaxprocs},
	} {
		if m.version != "" {
			list = append(list, m.path+" "+m.version)
		}
	}
	return list
}

// Aware reports whether the program's runtime reads its cgroup's CPU quota with a GODEBUG variable, which wins over the
// built-in settings (runtime/runtime1.go, parsegodebug: later settings win, values that are not numbers are
// ignored). It does since Go 1.25, but only if the main module's go line is 1.25 or later, because older lines build in
// containermaxprocs=0. An unknown version counts as recent.
func (e *Exe) Aware(godebug string) bool {
	if e.Minor != 0 && e.Minor < 25 {
		return false
	}
	const key = "containermaxprocs"
	aware := true
	for _, settings := range []map[string]string{e.GODEBUG, parseGODEBUG(godebug)} {
		if n, err := strconv.ParseInt(settings[key], 10, 32); err == nil {
			aware = n > 0
		}
	}
	return aware
}

// Go returns what a plan needs to know about the program, with a GODEBUG variable as in Aware.
func (e *Exe) Go(godebug string) plan.Go {
	g := plan.Go{Minor: e.Minor, Blind: !e.Aware(godebug), Automaxprocs: e.Automaxprocs != "",
		Automemlimit: e.Automemlimit != ""}
	if e.Narrow {
		g.Space = 4 << 30
	}
	return g
}

// KeepsTimers reports whether a timer that nothing refers to stays in memory until it fires, with a
// GODEBUG variable as in Aware: before Go 1.23, and up to 1.26 if the go line is older (package time,
// asynctimerchan). An unknown version counts as recent.
func (e *Exe) KeepsTimers(godebug string) bool {
	if e.Minor == 0 || e.Minor >= 27 {
		return false
	}
	const key = "asynctimerchan"
	keeps := e.Minor < 23
	for _, settings := range []map[string]string{e.GODEBUG, parseGODEBUG(godebug)} {
		if v, set := settings[key]; set && e.Minor >= 23 {
			keeps = v == "1"
		}
	}
	return keeps
}

// parseGODEBUG parses "a=1,b=2". If several settings have the same key, the last one that is a
// number wins, as in the runtime.
func parseGODEBUG(text string) map[string]string {
	settings := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			continue
		}
		if _, err := strconv.ParseInt(value, 10, 32); err != nil && settings[key] != "" {
			continue
		}
		settings[key] = value
	}
	return settings
}

// ParseVersion returns the minor version of a Go version as people and toolchains write it:
// 1.26, go1.26.8, 1.27rc1, "go1.26.8 X:synctest", "devel go1.28-1a2b3c4 Thu ...". It reports
// false for any other text, and for development versions before 1.18, which do not contain it.
func ParseVersion(text string) (minor int, ok bool) {
	text = strings.TrimPrefix(text, "devel ")
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "go"), "1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	if tail := rest[end:]; tail != "" && !strings.Contains(".-r b+", tail[:1]) {
		return 0, false
	}
	minor, err := strconv.Atoi(rest[:end])
	return minor, err == nil && minor < 1000
}

// ThisMinor returns the minor version of the Go that built snug.
func ThisMinor() int {
	minor, _ := ParseVersion(runtime.Version())
	return minor
}

// goSections reports whether a file is ELF with section headers, whether it has a section that
// only Go's linker writes (build information, build ID note or line table), and whether it has
// a symbol table.
func goSections(r io.ReaderAt) (any, goes, symbols bool) {
	f, err := gobin.ReadHeaders(r)
	if err != nil {
		return false, false, false
	}
	symbols = slices.ContainsFunc(f.Sections, func(s gobin.Section) bool { return s.Type == gobin.SectionSymbols })
	for _, name := range []string{".go.buildinfo", ".note.go.buildid", ".gopclntab", ".data.rel.ro.gopclntab"} {
		if f.Section(name) != nil {
			return true, true, symbols
		}
	}
	return len(f.Sections) > 0, false, symbols
}

// sniff returns what a file is, from its first bytes.
func sniff(head []byte) string {
	magic := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	switch {
	case len(head) == 0:
		return "an empty file"
	case magic("#!"):
		line, _, _ := bytes.Cut(head[2:], []byte("\n"))
		words := strings.Fields(string(line))
		if len(words) == 0 {
			return "a script"
		}
		return "a script for " + words[0]
	case magic("\x7fELF"):
		return "an ELF" + notGo
	case magic("MZ"):
		return "a Windows" + notGo
	case magic("\xcf\xfa\xed\xfe"), magic("\xce\xfa\xed\xfe"), magic("\xca\xfe\xba\xbe"):
		return "a Mach-O" + notGo
	}
	return "a file of another kind"
}
