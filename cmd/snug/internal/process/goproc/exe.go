// SPDX-License-Identifier: Apache-2.0

// Package goproc knows Go programs: which Go built a file, and how far that Go
// reads the container it runs in.
package goproc

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Exe is what can be told of an executable file.
type Exe struct {
	// IsGo is false for everything that is not a Go program; What then says
	// what it is: "a script for /bin/sh", "an ELF program", "empty", ...
	IsGo bool
	What string

	// GoVersion is the toolchain's as it writes it: "go1.26.8",
	// "go1.28-devel_1a2b3c4 ...". "" when the file does not say.
	GoVersion string
	// Minor is 26 for Go 1.26.x and for its development versions; 0 when
	// GoVersion does not say.
	Minor int
	// Main is the path of the main package; "" when the file does not say.
	Main string
	// GODEBUG are the settings built into the program, which its go line and
	// its go:debug lines chose. nil when the file does not say.
	GODEBUG map[string]string

	// Stripped says that the file has no symbol table, as what is built for others.
	Stripped bool

	// Versions of modules that are linked in and set knobs themselves; "" when
	// they are not, "(devel)" when the version is not known.
	Automaxprocs, Automemlimit, Snug string
}

// ReadExe looks at a file. The error is one of opening or reading it; a file
// that is no Go program is none.
func ReadExe(path string) (Exe, error) {
	// Asked before it is opened: to open a device may do something.
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

// Native reports whether a file is one that machines run: a program or a library
// in ELF, PE or Mach-O. Scripts and all else are not.
func (e *Exe) Native() bool { return e.IsGo || strings.HasSuffix(e.What, notGo) }

const notGo = " program that Go did not build"

// maxRead is how much of a file is read at most. Where the build information
// stands is known; it is searched for only in files that do not say, and those
// may be made of gigabytes of nothing.
const maxRead = 64 << 20

var errTooMuch = errors.New("too much to read")

// frugal is a file of which only so many bytes can be read.
type frugal struct {
	r    io.ReaderAt
	left int
}

func (f *frugal) ReadAt(p []byte, off int64) (int, error) {
	if len(p) > f.left {
		return 0, errTooMuch
	}
	n, err := f.r.ReadAt(p, off)
	f.left -= n
	return n, err
}

// ReadExeAt is ReadExe of a file that is open.
func ReadExeAt(r io.ReaderAt) (Exe, error) {
	r = &frugal{r, maxRead}
	head := make([]byte, 256)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return Exe{}, err
	}
	head = head[:n]
	sections, goes, symbols := goSections(r)
	if sections && !goes {
		return Exe{What: sniff(head)}, nil
	}
	if info, err := buildinfo.Read(r); err == nil {
		e := fromBuildInfo(info)
		e.Stripped = sections && !symbols
		if len(info.Deps) == 0 {
			e.byNames(r)
		}
		return e, nil
	}
	if goes {
		// Built by Go, its build information cut out or never written.
		e := Exe{IsGo: true, Stripped: !symbols}
		e.byNames(r)
		return e, nil
	}
	return Exe{What: sniff(head)}, nil
}

// fromBuildInfo reads what the go command wrote into a program.
func fromBuildInfo(info *debug.BuildInfo) Exe {
	e := Exe{IsGo: true, GoVersion: info.GoVersion, Main: info.Path}
	e.Minor, _ = ParseVersion(info.GoVersion)
	for _, s := range info.Settings {
		if s.Key == "DefaultGODEBUG" {
			e.GODEBUG = parseGODEBUG(s.Value)
		}
	}
	version := func(m *debug.Module) string {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return "(devel)"
		}
		return m.Version
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

// noVersion is the version of a module that only the names of its functions tell.
const noVersion = "(version unknown)"

// byNames finds modules by functions of theirs that are linked in: a program that was
// built without modules, as Debian builds all of its, lists none. Functions keep their
// names in a stripped program, in the line table (runtime/symtab.go, pcHeader).
func (e *Exe) byNames(r io.ReaderAt) {
	f, err := elf.NewFile(r)
	if err != nil {
		return
	}
	defer f.Close()
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		table := io.NewSectionReader(s, 0, int64(s.Size))
		head := make([]byte, 64)
		if _, err := table.ReadAt(head, 0); err != nil || head[7] != 8 {
			return
		}
		// magic, two zeros, minimum instruction, pointer size; then nfunc, nfiles, since
		// Go 1.18 textStart, and the offsets of the names and of what follows them.
		at := 24
		switch magic := f.ByteOrder.Uint32(head); magic {
		case 0xfffffff0, 0xfffffff1:
			at = 32
		case 0xfffffffa: // Go 1.16 and 1.17
		default:
			return
		}
		from, to := f.ByteOrder.Uint64(head[at:]), f.ByteOrder.Uint64(head[at+8:])
		if from > to || to > s.Size || to-from > maxRead {
			return
		}
		names := make([]byte, to-from)
		if _, err := table.ReadAt(names, int64(from)); err != nil {
			return
		}
		// Where it was copied into the program's own tree (vendor/), a path stands before.
		if bytes.Contains(names, []byte("go.uber.org/automaxprocs/maxprocs.Set\x00")) {
			e.Automaxprocs = cmp.Or(e.Automaxprocs, noVersion)
		}
		if bytes.Contains(names, []byte("github.com/KimMachineGun/automemlimit/memlimit.SetGoMemLimit")) {
			e.Automemlimit = cmp.Or(e.Automemlimit, noVersion)
		}
		return
	}
}

// Setters lists the modules that set knobs at start, as "path version".
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

// ContainerAware reports whether the program's runtime reads its cgroup's CPU
// quota when nothing in its environment says otherwise: since Go 1.25, and
// only where the main module's go line is 1.25 or later, because older lines
// build in containermaxprocs=0. A version that is not known counts as recent.
func (e *Exe) ContainerAware() bool { return e.Aware("") }

// Aware is ContainerAware under a GODEBUG variable, which wins over what is
// built in (runtime/runtime1.go, parsegodebug: later settings win, values that
// are no numbers count for nothing).
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

// parseGODEBUG reads "a=1,b=2". Of settings with the same key the last one
// that is a number wins, as in the runtime.
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

// ParseVersion finds the minor version in a Go version as people and
// toolchains write it: 1.26, go1.26.8, 1.27rc1, "go1.26.8 X:synctest",
// "devel go1.28-1a2b3c4 Thu ...". It is false for any other text, and for
// development versions from before 1.18, which do not tell.
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

// ThisMinor is the minor version of the Go that built snug.
func ThisMinor() int {
	minor, _ := ParseVersion(runtime.Version())
	return minor
}

// goSections reports whether a file is ELF with section headers, whether one is of
// those that only Go's linker writes (its build information, its build ID note, or its
// line table), and whether there is a symbol table.
func goSections(r io.ReaderAt) (any, goes, symbols bool) {
	f, err := elf.NewFile(r)
	if err != nil {
		return false, false, false
	}
	defer f.Close()
	symbols = f.SectionByType(elf.SHT_SYMTAB) != nil
	for _, name := range []string{".go.buildinfo", ".note.go.buildid", ".gopclntab", ".data.rel.ro.gopclntab"} {
		if f.Section(name) != nil {
			return true, true, symbols
		}
	}
	return len(f.Sections) > 0, false, symbols
}

// sniff says what a file is by its first bytes.
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
