// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// statLine is a line as Linux 6.18 writes it, with these fields.
func statLine(name, state string, flags, start uint64) string {
	return fmt.Sprintf("42 (%s) %s 7 42 42 0 -1 %d 101 0 0 0 150 50 0 0 20 0 9 0 %d 3133440 380 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", name, state, flags, start)
}

// loadingLine is one of a process that has a stack, and code up to an address.
func loadingLine(code string) string {
	return strings.Replace(statLine("app", "S", 0, 12345), "18446744073709551615 0 0 0", "18446744073709551615 0 "+code+" 140720000000000", 1)
}

func TestParseStat(t *testing.T) {
	want := Stat{Name: "app", State: 'S', Parent: 7, Threads: 9, CPU: 2 * time.Second, RSSBytes: 380 * 4096, start: 12345}
	for _, c := range []struct {
		name, text string
		change     func(*Stat)
	}{
		{"plain", statLine("app", "S", 0, 12345), func(*Stat) {}},
		{"name with a parenthesis and a space", statLine("a) R 1 (", "S", 0, 12345), func(s *Stat) { s.Name = "a) R 1 (" }},
		{"name with a line end", statLine("a\nb", "S", 0, 12345), func(s *Stat) { s.Name = "a\nb" }},
		{"no name", statLine("", "S", 0, 12345), func(s *Stat) { s.Name = "" }},
		{"kernel thread", statLine("app", "I", kernelTask, 12345), func(s *Stat) { s.State, s.Kernel = 'I', true }},
		{"forked", statLine("app", "S", forkNoExec, 12345), func(s *Stat) { s.Forked = true }},
		{"being loaded", loadingLine("0"), func(s *Stat) { s.loading = true }},
		{"loaded", loadingLine("4198400"), func(*Stat) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := want
			c.change(&want)
			if got, ok := parseStat([]byte(c.text), 4096); !ok || got != want {
				t.Errorf("%+v, %v, want %+v", got, ok, want)
			}
		})
	}
	for name, text := range map[string]string{
		"empty":          "",
		"no parentheses": strings.NewReplacer("(", "", ")", "").Replace(statLine("app", "S", 0, 1)),
		"cut":            statLine("app", "S", 0, 1)[:60],
		"long state":     statLine("app", "SS", 0, 1),
		"not a number":   strings.Replace(statLine("app", "S", 0, 1), " 150 ", " x ", 1),
		"negative time":  strings.Replace(statLine("app", "S", 0, 1), " 150 ", " -150 ", 1),
		"turned round":   ")(" + statLine("app", "S", 0, 1)[8:],
	} {
		if got, ok := parseStat([]byte(text), 4096); ok || got != (Stat{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tapp\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t42\t7\t1\nVmHWM:\t  232456 kB\n"
	if got, ok := parseStatus([]byte(text)); !ok || got != (Status{UID: 1001, NSPid: 1, Peak: 232456 << 10}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := parseStatus([]byte("Name:\tapp\nUid:\tx\ty\nNSpid:\nVmHWM:\nVmHWM:\tx kB\n:\n")); ok || got != (Status{UID: -1}) {
		t.Errorf("%+v, %v", got, ok)
	}
}

func TestParseCode(t *testing.T) {
	for text, want := range map[string]int64{
		"Name:\tapp\nVmExe:\t     924 kB\nVmLib:\t    2256 kB\nVmPTE:\t      80 kB\n": 2256 << 10,
		"Name:\tapp\nVmLib:\t       0 kB\n":                                           0,
		"Name:\tVmLib:\t 8 kB\nVmLib:\t    2256":                                      0, // cut off
		"Name:\tapp\nVmLib:\t      -4 kB\n":                                           0,
		"":                                                                            0,
	} {
		if got := parseSize([]byte(text), "VmLib"); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestParseIO(t *testing.T) {
	const text = "rchar: 1000\nwchar: 200\nsyscr: 30\nsyscw: 4\nread_bytes: 9\nwrite_bytes: 9\ncancelled_write_bytes: 0\n"
	if got, ok := parseIO([]byte(text)); !ok || got != (IO{Bytes: 1200, Calls: 34}) {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, text := range []string{"", "rchar: 1\nwchar: 2\nsyscr: 3\n", "rchar: x\nwchar: 2\nsyscr: 3\nsyscw: 4\n", "rchar\n:\n"} {
		if got, ok := parseIO([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func words64(words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func TestParseAuxv(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		want uint64
	}{
		{"among others", words64(33, 1, atEntry, 0x401000, 0, 0), 0x401000},
		{"after the end", words64(33, 1, 0, 0, atEntry, 0x401000), 0},
		{"cut", words64(33, 1, atEntry), 0},
		{"zero", words64(atEntry, 0, 0, 0), 0},
		{"empty, as of a kernel thread", nil, 0},
	} {
		if got, ok := parseAuxv(c.text); got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %#x, %v, want %#x", c.name, got, ok, c.want)
		}
	}
}

func TestLoading(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		want bool
	}{
		{"nothing written yet", words64(0, 0), true},
		{"a whole vector's room, nothing written yet", make([]byte, 352), true},
		{"a program's", words64(33, 1, atEntry, 0x401000, 0, 0), false},
		{"empty, as of a kernel thread", nil, false},
	} {
		if got := loading(c.text); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestParseEnviron(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"none", "", map[string]string{}},
		{"only what sets knobs", "PATH=/bin\x00TOKEN=secret\x00GOGC=50\x00SNUG_LOG=1\x00GODEBUG=gctrace=1\x00GOFLAGS=-x\x00SNUG=off\x00", map[string]string{"GOGC": "50", "GODEBUG": "gctrace=1"}},
		{"the first counts", "GOGC=50\x00GOGC=60\x00", map[string]string{"GOGC": "50"}},
		{"empty value", "GOGC=\x00", map[string]string{"GOGC": ""}},
		{"no end", "GOMAXPROCS=4", map[string]string{"GOMAXPROCS": "4"}},
		{"no equals sign", "GOGC\x00\x00\x00=\x00", map[string]string{}},
		{"absurdly long", "GOGC=" + strings.Repeat("1", maxValue+1) + "\x00", map[string]string{}},
		{"a title written over it", "app: worker 3\x00\x00\x00", map[string]string{}},
	} {
		if got := parseEnviron([]byte(c.text)); !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDelays(t *testing.T) {
	look := func(threads map[int]delay) Delays {
		d := Delays{thread: map[int]delay{}, Threads: len(threads)}
		for tid, one := range threads {
			d.add(tid, one)
		}
		return d
	}
	before := look(map[int]delay{1: {100, 10}, 2: {500, 50}, 3: {7, 7}})
	after := look(map[int]delay{
		1: {150, 15}, // ran on
		3: {5, 1},    // another thread with the number of one that ended
		4: {20, 2},   // new
	})
	if before.Run != 607 || before.Wait != 67 {
		t.Errorf("%+v", before)
	}
	if got := after.Since(before); got.Run != 50+5+20 || got.Wait != 5+1+2 || got.Threads != 3 {
		t.Errorf("%+v", got)
	}
	if got := look(map[int]delay{1: {math.MaxUint64, 1 << 63}, 2: {9, 9}}); got.Run != math.MaxInt64 || got.Wait != math.MaxInt64 {
		t.Errorf("absurd times: %+v", got)
	}
	for text, want := range map[string]delay{"12 34 5\n": {12, 34}, "12\n": {}, "": {}, "-1 2 3": {}, "1 x 3": {}} {
		if got, ok := parseSchedstat([]byte(text)); got != want || ok != (want != delay{}) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct {
		name string
		err  Denied
		want string
	}{
		{"another user", Denied{What: "exe", UID: 1000, own: 1001}, "run as user 1000 or with CAP_SYS_PTRACE"},
		{"the same user under Yama", Denied{What: "mem", UID: 1000, own: 1000, yama: 1}, "kernel.yama.ptrace_scope=1: run with CAP_SYS_PTRACE"},
		{"Yama at its strictest", Denied{What: "mem", UID: 0, own: 0, yama: 3}, "kernel.yama.ptrace_scope=3 forbids it to everyone until the next boot"},
		{"Yama does not guard files", Denied{What: "exe", UID: 1000, own: 1000, yama: 1}, "the process is not dumpable, has more capabilities or another user namespace: run with CAP_SYS_PTRACE"},
		{"root without the capability", Denied{What: "mem", UID: 1000, own: 0}, "the process is not dumpable, has more capabilities or another user namespace: run with CAP_SYS_PTRACE"},
		{"hidden", Denied{What: "stat", UID: -1, own: 1000}, HiddenHint},
		{"user not known", Denied{What: "exe", UID: -1, own: 1000}, "the process is not dumpable, has more capabilities or another user namespace: run with CAP_SYS_PTRACE"},
	} {
		if got := c.err.Hint(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParseIdle(t *testing.T) {
	const text = "cpu  30 0 9 700 30 0 0 5\ncpu0 10 0 3 300 20 0 0 1\ncpu1 10 0 3 200 0 0 0 1\ncpu7 10 0 3 200 10 0 0 3\nintr 7 300 20\ncpu9 1 1 1 9 9\n"
	for name, test := range map[string]struct {
		text   string
		wanted func(int) bool
		idle   time.Duration
		cpus   []int
	}{
		"all":       {text, func(int) bool { return true }, 7300 * time.Millisecond, []int{0, 1, 7}},
		"one":       {text, func(cpu int) bool { return cpu == 7 }, 2100 * time.Millisecond, []int{7}},
		"none":      {text, func(int) bool { return false }, 0, nil},
		"empty":     {"", func(int) bool { return true }, 0, nil},
		"short":     {"cpu0 1 2 3 4\ncpu\n", func(int) bool { return true }, 0, nil},
		"no number": {"cpu0 1 2 3 x 5\ncpux 1 2 3 4 5\n", func(int) bool { return true }, 0, nil},
	} {
		if idle, cpus := parseIdle([]byte(test.text), test.wanted); idle != test.idle || !slices.Equal(cpus, test.cpus) {
			t.Errorf("%s: %v of CPUs %v, want %v of %v", name, idle, cpus, test.idle, test.cpus)
		}
	}
}

func TestIdleSince(t *testing.T) {
	begin := time.Now()
	at := func(seconds float64, idle time.Duration, cpus ...int) Idle {
		return Idle{begin.Add(time.Duration(seconds * 1e9)), idle, cpus}
	}
	before := at(0, 100*time.Second, 0, 1)
	for name, test := range map[string]struct {
		after Idle
		part  float64
		known bool
	}{
		"half":          {at(2, 102*time.Second, 0, 1), 0.5, true},
		"none":          {at(2, 100*time.Second, 0, 1), 0, true},
		"rounded up":    {at(1, 102*time.Second+20*time.Millisecond, 0, 1), 1, true},
		"went back":     {at(2, 99*time.Second, 0, 1), 0, false},
		"too much":      {at(1, 103*time.Second, 0, 1), 0, false},
		"other CPUs":    {at(2, 102*time.Second, 1, 2), 0, false},
		"fewer":         {at(2, 101*time.Second, 0), 0, false},
		"no time":       {at(0, 100*time.Second, 0, 1), 0, false},
		"nothing known": {Idle{}, 0, false},
	} {
		if part, known := test.after.Since(before); part != test.part || known != test.known {
			t.Errorf("%s: %v, %v, want %v, %v", name, part, known, test.part, test.known)
		}
	}
}

// FuzzParse gives the same bytes to every parser.
func FuzzParse(f *testing.F) {
	f.Add([]byte(statLine("a) b", "S", 64, 12345)))
	f.Add([]byte("Uid:\t0\t0\t0\t0\nNSpid:\t42\t1\n"))
	f.Add([]byte("GOGC=50\x00TOKEN=x\x00SNUG_LOG=1\x00"))
	f.Add([]byte("123 45 6\n"))
	f.Add([]byte("cpu  1 2 3 4 5\ncpu0 1 2 3 4 5\n"))
	f.Add([]byte("rchar: 1\nread_bytes: 5\nwrite_bytes: 18446744073709551615\n"))
	f.Add([]byte("00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/a\nffff0000-0000 r-xp 0 0:0 1 /b\n"))
	f.Add(words64(33, 1, atEntry, 0x401000, 0, 0))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, ok := parseStat(text, 4096); !ok && s != (Stat{}) || s.RSSBytes < 0 || s.CPU < 0 || s.Threads < 0 {
			t.Errorf("%+v, %v", s, ok)
		}
		if n := parseSize(text, "VmLib"); n < 0 {
			t.Errorf("%q: %d bytes of code", text, n)
		}
		if s, _ := parseStatus(text); s.UID < -1 || s.NSPid < 0 {
			t.Errorf("%+v", s)
		}
		if idle, cpus := parseIdle(text, func(int) bool { return true }); idle < 0 || cpus == nil && idle != 0 {
			t.Errorf("%v of %v", idle, cpus)
		}
		for name := range parseEnviron(text) {
			if !public([]byte(name)) || !bytes.Contains(text, []byte(name+"=")) {
				t.Errorf("%q", name)
			}
		}
		if d, ok := parseSchedstat(text); !ok && d != (delay{}) {
			t.Errorf("%v", d)
		}
		parseIO(text)
		for _, s := range parseCode(text) {
			if s[0] > s[1] {
				t.Errorf("%#x", s)
			}
		}
		for _, o := range parseMaps(text) {
			if o.Path == "" {
				t.Errorf("%+v", o)
			}
		}
		for _, e := range parseEntries(text, nil) {
			if e.Pid <= 0 {
				t.Errorf("%+v", e)
			}
		}
		if entry, ok := parseAuxv(text); ok != (entry != 0) {
			t.Errorf("%#x, %v", entry, ok)
		}
	})
}

// TestParseEntries: what the kernel lists, and what nobody should send.
func TestParseEntries(t *testing.T) {
	entry := func(inode uint64, name string) []byte {
		size := (19 + len(name) + 1 + 7) &^ 7
		b := make([]byte, size)
		binary.LittleEndian.PutUint64(b, inode)
		binary.LittleEndian.PutUint16(b[16:], uint16(size))
		copy(b[19:], name)
		return b
	}
	all := slices.Concat(entry(1, "."), entry(7, "42"), entry(8, "self"), entry(9, "007"), entry(10, "4294967296"), entry(11, "32768"))
	want := []Entry{{42, 7}, {32768, 11}}
	if got := parseEntries(all, nil); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for cut := range all {
		parseEntries(all[:cut], nil)
	}
	all[16], all[17] = 0, 0
	if got := parseEntries(all, nil); len(got) != 0 {
		t.Errorf("an entry without a length: %v", got)
	}
}

// TestParseMaps: only files whose code may run, each once.
func TestParseMaps(t *testing.T) {
	const text = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/a\n" +
		"00651000-00652000 r--p 00051000 08:02 173522 /usr/lib/data\n" +
		"35b1800000-35b1820000 r-xp 00000000 08:02 135522     /usr/lib/b c.so (deleted)\n" +
		"35b1820000-35b1830000 r-xp 00020000 08:02 135522     /usr/lib/b c.so (deleted)\n" +
		"35b1830000-35b1840000 rwxs 00000000 00:05 9          /new\\012line\n" +
		"7fffb2c0d000-7fffb2c2e000 rwxp 00000000 00:00 0      [stack]\n" +
		"7fffb2d48000-7fffb2d49000 r-xp 00000000 00:00 0 \n" +
		"x\n"
	want := []Object{
		{"/usr/bin/a", false, "08:02 173521", "400000-452000"},
		{"/usr/lib/b c.so", true, "08:02 135522", "35b1800000-35b1820000"},
		{"/new\nline", false, "00:05 9", "35b1830000-35b1840000"},
	}
	if got := parseMaps([]byte(text)); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	spans := [][2]uint64{{0x400000, 0x452000}, {0x35b1800000, 0x35b1820000}, {0x35b1820000, 0x35b1830000}, {0x35b1830000, 0x35b1840000}}
	if got := parseCode([]byte(text)); !slices.Equal(got, spans) {
		t.Errorf("%x", got)
	}
	for cut := range text {
		parseMaps([]byte(text[:cut]))
		parseCode([]byte(text[:cut]))
	}
}
