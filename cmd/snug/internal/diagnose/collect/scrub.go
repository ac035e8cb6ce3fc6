// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// scrubber replaces names that reveal something about a machine by made-up ones. Equal names
// stay equal and different names stay different. Whatever in a name could matter to package
// limits is kept.
type scrubber struct {
	raw   bool
	names map[string]string // path component -> made-up component
}

func (s *scrubber) comment() string {
	if s.raw {
		return "Say here what this is, where it was seen, and what is wrong with the answer.\n\n" +
			"Collected by snug collect --raw: names, ids and paths are the real ones."
	}
	return "Say here what this is, where it was seen, and what is wrong with the answer.\n\n" +
		"Collected by snug collect. Names, ids and paths are made up (x1, x2, ...)."
}

// common lists path components that reveal nothing.
var common = words(`proc sys fs cgroup self unified systemd dev pts shm mqueue etc run var lib tmp mnt host rootfs
	cpu cpuacct cpuset memory blkio pids devices freezer net_cls net_prio hugetlb perf_event rdma misc io
	meminfo lxcfs
	cpu,cpuacct cpuacct,cpu net_cls,net_prio net_prio,net_cls
	init init.scope system.slice user.slice machine.slice
	docker podman lxc containerd kubepods burstable besteffort guaranteed
	kubepods.slice kubepods-burstable.slice kubepods-besteffort.slice`)

// prefixes and suffixes are the parts of a component that show its kind. They are kept.
var (
	prefixes = []string{
		"docker-", "cri-containerd-", "crio-", "libpod-", "nspawn-", "session-", "user@", "user-",
		"kubepods-burstable-pod", "kubepods-besteffort-pod", "kubepods-pod", "pod",
	}
	suffixes = []string{".slice", ".scope", ".service", ".mount", ".socket"}
)

func words(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

// component replaces one name of a path.
func (s *scrubber) component(name string) string {
	if base, ok := strings.CutSuffix(name, " (deleted)"); ok && base != "" {
		return s.component(base) + " (deleted)"
	}
	if s.raw || name == "" || name == "." || name == ".." || common[name] {
		return name
	}
	if made, ok := s.names[name]; ok {
		return made
	}
	rest := name
	made := rest[:len(rest)-len(strings.TrimLeft(rest, "."))]
	rest = rest[len(made):]
	for _, p := range prefixes {
		if strings.HasPrefix(rest, p) {
			made, rest = made+p, rest[len(p):]
			break
		}
	}
	made += "x" + strconv.Itoa(len(s.names)+1)
	suffix := ""
	for _, end := range suffixes {
		if strings.HasSuffix(rest, end) {
			suffix, rest = end, strings.TrimSuffix(rest, end)
		}
	}
	// Keep characters that must be escaped or that separate fields.
	for _, c := range " \t\n\\:,=" {
		if strings.ContainsRune(rest, c) {
			made += string(c) + "x"
		}
	}
	s.names[name] = made + suffix
	return made + suffix
}

// path replaces the names in a path, absolute or not.
func (s *scrubber) path(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = s.component(parts[i])
	}
	return strings.Join(parts, "/")
}

// file replaces the names of the directories that a cgroup file is in.
func (s *scrubber) file(name string) string {
	dir, base := path.Split(name)
	return s.path(dir) + base
}

// cgroup rewrites /proc/PID/cgroup. A line is "9:cpu,cpuacct:/docker/abc". Any other line
// keeps its punctuation and the names of controllers.
func (s *scrubber) cgroup(text []byte) []byte {
	return s.lines(text, func(line string) string {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			return mask(line)
		}
		if !digits.MatchString(f[0]) {
			f[0] = mask(f[0])
		}
		return f[0] + ":" + s.option(f[1]) + ":" + s.path(f[2])
	})
}

// digits matches the number of a hierarchy or a mount.
var digits = regexp.MustCompile(`^[0-9]{1,10}$`)

// option keeps a list of controllers and replaces the name of a hierarchy.
func (s *scrubber) option(list string) string {
	opts := strings.Split(list, ",")
	for i, o := range opts {
		key, value, named := strings.Cut(o, "=")
		switch {
		case named && key == "name":
			opts[i] = "name=" + s.component(value)
		case named:
			opts[i] = mask(key) + "=x"
		case !flag.MatchString(o):
			opts[i] = mask(o)
		}
	}
	return strings.Join(opts, ",")
}

// flag matches a controller or a mount flag.
var flag = regexp.MustCompile(`^[a-z_]{1,24}$`)

// mountinfo rewrites a mount table, malformed lines included.
func (s *scrubber) mountinfo(text []byte) []byte {
	return s.lines(text, func(line string) string {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Split(before, " ")
		if !ok || len(f) < 6 {
			return s.mountWords(line)
		}
		f[3], f[4], f[5] = s.escaped(f[3]), s.escaped(f[4]), s.mountFlags(f[5])
		for i := 6; i < len(f); i++ {
			if !optional.MatchString(f[i]) {
				f[i] = mask(f[i])
			}
		}
		fstype, rest, _ := strings.Cut(after, " ")
		source, super, two := strings.Cut(rest, " ")
		cgroup := strings.HasPrefix(fstype, "cgroup")
		kind, sub, _ := strings.Cut(fstype, ".")
		if !flag.MatchString(strings.TrimRight(kind, "0123456789")) {
			kind = mask(kind)
		}
		if sub == "lxcfs" { // it shows the container's own figures
			kind = fstype
		}
		tail := kind + " " + s.source(source, fstype)
		switch {
		case two && cgroup:
			tail += " " + s.option(super)
		case two:
			tail += " " + s.mountFlags(super)
		}
		return strings.Join(f, " ") + " - " + tail
	})
}

// optional matches an optional field of a mount.
var optional = regexp.MustCompile(`^(shared:[0-9]+|master:[0-9]+|propagate_from:[0-9]+|unbindable)$`)

// source keeps a mount source that only names a kind of file system.
func (s *scrubber) source(source, fstype string) string {
	if source == fstype || common[source] || source == "cgroup2" || source == "none" {
		return source
	}
	return "x"
}

// flags are options that every file system has.
var flags = words("rw ro nosuid nodev noexec relatime noatime nodiratime sync dirsync")

// mountFlags drops all other options: paths, users, labels.
func (s *scrubber) mountFlags(list string) string {
	var keep []string
	for o := range strings.SplitSeq(list, ",") {
		if flags[o] {
			keep = append(keep, o)
		}
	}
	if len(keep) == 0 {
		return "x"
	}
	return strings.Join(keep, ",")
}

// mountWords rewrites a malformed mount line word by word.
func (s *scrubber) mountWords(line string) string {
	f := strings.Split(line, " ")
	for i, w := range f {
		switch {
		case strings.HasPrefix(w, "/"):
			f[i] = s.escaped(w)
		case !digits.MatchString(w):
			f[i] = mask(w)
		}
	}
	return strings.Join(f, " ")
}

// escaped replaces the names in a path that the kernel escaped. A component that the kernel
// cannot have escaped stays malformed.
func (s *scrubber) escaped(p string) string {
	parts := strings.Split(p, "/")
	for i, c := range parts {
		plain, ok := unescape(c)
		if !ok {
			parts[i] = s.component(c) // keeps the backslash, and an x after it
			continue
		}
		parts[i] = escapes.Replace(s.component(plain))
	}
	return strings.Join(parts, "/")
}

var escapes = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// unescape undoes the kernel's octal escapes.
func unescape(text string) (string, bool) {
	ok := true
	plain := octal.ReplaceAllStringFunc(text, func(e string) string {
		n, err := strconv.ParseUint(e[1:], 8, 8)
		if err != nil {
			ok = false
			return ""
		}
		return string([]byte{byte(n)})
	})
	return plain, ok
}

// octal matches an escape, or a backslash that is not part of one.
var octal = regexp.MustCompile(`\\([0-7]{3})?`)

// number matches a line of figures as in cgroup files: "200000 100000",
// "max 100000", "nr_periods 12", "some avg10=0.00 total=0", "0-3,8".
var number = regexp.MustCompile(`^(([a-z][a-z0-9_.]{0,40} )?-?[0-9][0-9 ,.-]*|` +
	`max( [0-9]+)?|(some|full)( [a-z0-9]+=[0-9.]+)+|)$`)

// values keeps the figures in a cgroup file and masks everything else.
func (s *scrubber) values(base string, text []byte) []byte {
	return s.lines(text, func(line string) string {
		if number.MatchString(line) || (base == "cgroup.controllers" || base == "cgroup.type") && list.MatchString(line) {
			return line
		}
		return mask(line)
	})
}

var list = regexp.MustCompile(`^[a-z_ ]*$`)

// mask replaces letters by x and digits by 0.
func mask(text string) string {
	b := []byte(text)
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			b[i] = 'x'
		case c >= '1' && c <= '9':
			b[i] = '0'
		case c >= 0x80:
			b[i] = 0xff
		}
	}
	return string(b)
}

// lines rewrites text line by line. The last line may lack its newline.
func (s *scrubber) lines(text []byte, rewrite func(string) string) []byte {
	if s.raw {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		plain, newline := bytes.CutSuffix(line, []byte("\n"))
		out = append(out, rewrite(string(plain))...)
		if newline {
			out = append(out, '\n')
		}
	}
	return out
}
