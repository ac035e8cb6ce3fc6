// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// election is a ballot of which every voter's uses are written down: variables are at 0x1000 to 0x10000.
func election(of map[string]uses) *ballot {
	b := &ballot{img: &image{segs: []segment{{addr: 0x1000, memsz: 0xf000, flags: flagWrite}, {addr: 0x20000, memsz: 0x1000}}}, funcs: map[string]fn{}, uses: of}
	for name := range of {
		b.funcs[name] = fn{entry: 0x20000}
	}
	return b
}

// voted returns uses of so many of the voters that all use an address.
func voted(list []voter, n int, data ...use) map[string]uses {
	of := map[string]uses{}
	for _, v := range list[:n] {
		of[v[0]] = uses{data: data}
	}
	return of
}

// TestElections: the least votes that elect an address, and one less.
func TestElections(t *testing.T) {
	add := func(of map[string]uses, list []voter, data ...use) map[string]uses {
		for _, v := range list {
			of[v[0]] = uses{data: slices.Concat(of[v[0]].data, data)}
		}
		return of
	}
	const a, b = 0x2000, 0x3000
	idle := func(of map[string]uses, n int) map[string]uses { return add(of, spinningVoters[:n], use{a - 4, 4}) }
	for _, c := range []struct {
		name string
		of   map[string]uses
		get  func(*ballot) Var
		want Var
	}{
		{"GOMAXPROCS by all", voted(gomaxprocsVoters, 11, use{a, 4}), (*ballot).gomaxprocs, Var{a, 11, 11, 0}},
		{"by 7 of 10", add(voted(gomaxprocsVoters, 10), gomaxprocsVoters[:7], use{a, 4}), (*ballot).gomaxprocs, Var{a, 7, 10, 0}},
		{"by 6 of 9", add(voted(gomaxprocsVoters, 9), gomaxprocsVoters[:6], use{a, 4}), (*ballot).gomaxprocs, Var{0, 6, 9, 0}},
		{"3 ahead", add(voted(gomaxprocsVoters, 10, use{a, 4}), gomaxprocsVoters[:7], use{b, 4}), (*ballot).gomaxprocs, Var{a, 10, 10, 7}},
		{"2 ahead", add(voted(gomaxprocsVoters, 10, use{a, 4}), gomaxprocsVoters[:8], use{b, 4}), (*ballot).gomaxprocs, Var{0, 10, 10, 8}},
		{"of 8 bytes", voted(gomaxprocsVoters, 11, use{a, 8}), (*ballot).gomaxprocs, Var{0, 0, 11, 0}},
		{"constants", voted(gomaxprocsVoters, 11, use{0x20010, 4}), (*ballot).gomaxprocs, Var{0, 0, 11, 0}},
		{"outside", voted(gomaxprocsVoters, 11, use{0x10000, 4}), (*ballot).gomaxprocs, Var{0, 0, 11, 0}}, {"the last address", voted(gomaxprocsVoters, 3, use{0xffff, 4}), (*ballot).gomaxprocs, Var{0xffff, 3, 3, 0}},
		{"twice by one is once", voted(gomaxprocsVoters, 3, use{a, 4}, use{a, 4}), (*ballot).gomaxprocs, Var{a, 3, 3, 0}},
		{"none", nil, (*ballot).gomaxprocs, Var{}},
		{"the controller", voted(gcControllerVoters, 11, use{a, 0}), (*ballot).gcController, Var{a, 11, 11, 0}},
		{"custom by all three", voted(customVoters, 3, use{a, 1}), (*ballot).custom, Var{a, 3, 3, 0}},
		{"custom, a rival by two", add(voted(customVoters, 3, use{a, 1}), customVoters[:2], use{b, 1}), (*ballot).custom, Var{a, 3, 3, 2}},
		{"custom, a rival by all", voted(customVoters, 3, use{a, 1}, use{b, 1}), (*ballot).custom, Var{0, 3, 3, 3}},
		{"custom by two of three", add(voted(customVoters, 3), customVoters[:2], use{a, 1}), (*ballot).custom, Var{0, 2, 3, 0}},
		{"custom by two", voted(customVoters, 2, use{a, 1}), (*ballot).custom, Var{0, 2, 2, 0}},
		{"spinning by 7 of 8", idle(add(voted(spinningVoters, 8), spinningVoters[:7], use{a, 4}), 1), (*ballot).spinning, Var{a, 7, 8, 1}},
		{"spinning by 6", idle(add(voted(spinningVoters, 8), spinningVoters[:6], use{a, 4}), 1), (*ballot).spinning, Var{0, 6, 8, 1}},
		{"spinning without idle", voted(spinningVoters, 8, use{a, 4}), (*ballot).spinning, Var{0, 8, 8, 0}},
		{"spinning of 7", idle(voted(spinningVoters, 7, use{a, 4}), 1), (*ballot).spinning, Var{0, 7, 7, 1}},
		{"spinning, a rival by 7", idle(voted(spinningVoters, 8, use{a, 4}), 7), (*ballot).spinning, Var{a, 8, 8, 7}},
		{"pause by three", voted(pauseVoters, 1, use{a, 8}, use{a + 4104, 4}, use{a + 4112, 8}), (*ballot).pauseTotal, Var{a, 3, 3, 1}},
		{"pause by two", voted(pauseVoters, 1, use{a, 8}, use{a + 4104, 4}), (*ballot).pauseTotal, Var{0, 2, 3, 0}},
		{"pause, the count of another size", voted(pauseVoters, 1, use{a, 8}, use{a + 4104, 8}, use{a + 4112, 8}), (*ballot).pauseTotal, Var{0, 2, 3, 1}},
		{"pause of 4 bytes", voted(pauseVoters, 1, use{a, 4}, use{a + 4104, 4}, use{a + 4112, 8}), (*ballot).pauseTotal, Var{0, 1, 3, 0}},
		{"no pause", nil, (*ballot).pauseTotal, Var{}},
	} {
		got := c.get(election(c.of))
		if c.want.Addr == 0 && got.Addr == 0 || strings.HasPrefix(c.name, "pause") {
			got.Rival, c.want.Rival = 0, 0 // a draw, or any of the fields
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for range 20 { // the first of two is a matter of chance
		if got := election(idle(voted(spinningVoters, 8, use{a, 4}), 8)).spinning(); got.Addr != 0 {
			t.Errorf("spinning, a rival by all: %+v", got)
		}
	}
	if got := election(voted(pauseVoters, 1, use{a, 8}, use{a + 4104, 4}, use{a + 4112, 8}, use{b, 8}, use{b + 4104, 4}, use{b + 4112, 8})).pauseTotal(); got.Addr != 0 || got.Rival != 3 {
		t.Errorf("two pauses: %+v", got)
	}
}

// TestCalled: variables that are found as the argument of calls.
func TestCalled(t *testing.T) {
	const a, b, method = 0x2000, 0x3000, 0x20040
	of := func(targets ...call) uses { return uses{calls: targets} }
	for _, c := range []struct {
		name string
		of   map[string]uses
		want Var
	}{
		{"all", map[string]uses{"gcStart": of(call{method, a}), "gcMarkDone": of(call{method, a}, call{1, b})}, Var{a, 2, 2, 0}},
		{"one", map[string]uses{"gcStart": of(call{method, a})}, Var{a, 1, 1, 0}},
		{"two arguments", map[string]uses{"gcStart": of(call{method, a}), "gcMarkDone": of(call{method, a}, call{method, b})}, Var{0, 2, 2, 1}},
		{"no argument in one", map[string]uses{"gcStart": of(call{method, a}), "gcMarkDone": of(call{method, 0})}, Var{0, 1, 2, 0}},
		{"other calls", map[string]uses{"gcStart": of(call{method + 1, a})}, Var{}},
		{"none", nil, Var{}},
	} {
		e := election(c.of)
		e.funcs[accumulate] = fn{entry: method}
		if got := e.cpuStats(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if delete(e.funcs, accumulate); e.cpuStats() != (Var{}) {
			t.Errorf("%s: without the method: %+v", c.name, e.cpuStats())
		}
		locks := election(map[string]uses{"mProf_Flush": c.of["gcStart"], "mProf_PostSweep": c.of["gcMarkDone"]})
		locks.funcs["lock2"], locks.funcs["unlock2"] = fn{entry: 1}, fn{entry: method}
		if got := locks.memLock(); (got.Votes > 0) != (c.want.Votes > 0) {
			t.Errorf("%s, as locks: %+v", c.name, got)
		}
	}
}

// TestUnanimous: not one voter may miss, and no rival may have all.
func TestUnanimous(t *testing.T) {
	for _, c := range []struct {
		v     Var
		least int
		want  uint64
	}{
		{Var{1, 3, 3, 0}, 3, 1}, {Var{1, 4, 4, 3}, 3, 1}, {Var{1, 2, 2, 0}, 3, 0}, {Var{1, 3, 4, 0}, 3, 0}, {Var{1, 3, 3, 3}, 3, 0}, {Var{1, 3, 3, 2}, 3, 1}, {Var{}, 0, 0},
	} {
		if got := c.v.unanimous(c.least); got.Addr != c.want {
			t.Errorf("%+v of at least %d: %+v", c.v, c.least, got)
		}
	}
}

// TestSlices8: a slice is two words, of which none stands before.
func TestSlices8(t *testing.T) {
	for _, c := range []struct {
		data []use
		want []uint64
	}{
		{[]use{{8, 8}, {16, 8}}, []uint64{8}}, {[]use{{8, 8}, {16, 4}}, nil}, {[]use{{8, 8}, {24, 8}}, nil}, {[]use{{8, 8}, {16, 8}, {24, 8}}, []uint64{8}},
		{[]use{{8, 8}, {16, 8}, {40, 8}, {48, 8}}, []uint64{8, 40}}, {nil, nil},
	} {
		if got := slices8(uses{data: c.data}); !slices.Equal(slices.Sorted(slices.Values(got)), c.want) {
			t.Errorf("%v: %v, want %v", c.data, got, c.want)
		}
	}
}

// TestMemBuckets: the head of a list that is read by all and written by one.
func TestMemBuckets(t *testing.T) {
	const a, b = 0x2000, 0x3000
	for _, c := range []struct {
		made []use
		want uint64
	}{
		{[]use{{a, 8}}, a}, {[]use{{a, 0}}, a}, {[]use{{a, 4}}, 0}, {[]use{{a, 4}, {a, 8}}, a}, {[]use{{a, 8}, {a, 4}}, a}, {[]use{{b, 8}}, b}, {[]use{{0x4000, 8}}, 0}, {nil, 0},
	} {
		of := voted(memFlushVoters, 2, use{a, 8}, use{b, 8}, use{0x4000, 4})
		of["stkbucket"] = uses{data: c.made}
		if got := election(of).memBuckets(); got.Addr != c.want {
			t.Errorf("%v: %+v, want %#x", c.made, got, c.want)
		}
	}
	if got := election(voted(memFlushVoters, 2, use{a, 8})).memBuckets(); got != (Var{}) {
		t.Errorf("without the one that writes: %+v", got)
	}
}

// TestWaitReasons: a list of texts, up to the first that is none.
func TestWaitReasons(t *testing.T) {
	const first = "GC assist marking"
	for _, c := range []struct {
		texts []string
		want  int // with the empty one in front
	}{
		{[]string{first, "select", "sleep"}, 4}, {[]string{first}, 2}, {[]string{"else", first}, 0}, {nil, 0}, {[]string{first, "tab\t", "sleep"}, 2}, {[]string{first, "\x1f"}, 2}, {[]string{first, " ", "~"}, 4}, {[]string{first, "\x7f"}, 2},
		{[]string{first, strings.Repeat("a", 64), "x"}, 4}, {[]string{first, strings.Repeat("a", 65), "x"}, 2}, {[]string{first, "", "x"}, 2}, {slices.Concat([]string{first}, slices.Repeat([]string{"x"}, 299)), 256},
	} {
		headers, text := make([]byte, 16), ""
		for _, s := range c.texts {
			headers = le.AppendUint64(le.AppendUint64(headers, 0x1000+uint64(len(text))), uint64(len(s)))
			text += s
		}
		headers = append(headers, make([]byte, 16)...)
		e := election(voted(reasonVoters, 2, use{0x9000, 8}, use{0x2000, 0}))
		e.img = &image{r: strings.NewReader(text + string(headers)), segs: []segment{{addr: 0x1000, filesz: uint64(len(text))}, {addr: 0x2000 + 0x10000, filesz: 1}, {addr: 0x2000, off: uint64(len(text)), filesz: uint64(len(headers))}}}
		if got := e.waitReasons(); len(got) != c.want || c.want > 0 && (got[0] != "" || !slices.Equal(got[1:], c.texts[:c.want-1])) {
			t.Errorf("%.80q: %.80q", c.texts, got)
		}
	}
}

// TestTables: no offset of a table can be one that the runtime's types do not have: fields stand at multiples of
// their sizes, no two at the same place, and -1 is the only other value.
func TestTables(t *testing.T) {
	size := func(name string) int64 {
		switch name {
		case "GCPercent", "NumGC", "Status", "SysGs", "FreeGs", "FreeGsNoStack", "TimeToRun", "StopsGC", "GCPauseDist", "PFreeGs":
			return 4
		case "WaitReason", "Tracking":
			return 1
		}
		return 8
	}
	missing := map[string][]int{} // in which releases
	check := func(release int, v any) {
		seen := map[string]bool{}
		of := reflect.ValueOf(v)
		for i := range of.NumField() {
			if of.Field(i).Kind() != reflect.Int64 {
				continue
			}
			name, at := of.Type().Field(i).Name, of.Field(i).Int()
			if at == -1 {
				missing[name] = append(missing[name], release)
				continue
			}
			if at%size(name) != 0 || at < 0 && name != "SysGs" || at > 1<<16 {
				t.Errorf("1.%d: %s at %d", release, name, at)
			}
			if place := fmt.Sprint(size(name), at); seen[place] && of.NumField() < 14 && name != "Cycle" && name != "LR" {
				t.Errorf("1.%d: %s at %d, where another is", release, name, at)
			} else {
				seen[place] = true
			}
		}
	}
	releases := 0
	for release := range layouts {
		releases++
		check(release, layouts[release])
		check(release, records[release])
		check(release, scheds[release])
	}
	if len(records) != releases || len(scheds) != releases {
		t.Errorf("%d, %d and %d releases", releases, len(records), len(scheds))
	}
	upTo := func(release int) (all []int) {
		for i := 18; i <= release; i++ {
			all = append(all, i)
		}
		return all
	}
	var last int
	for release := range layouts {
		last = max(last, release)
	}
	want := map[string][]int{"MemoryLimit": upTo(18), "HeapInUse": upTo(18), "HeapFree": upTo(18), "MappedReady": upTo(18), "StopsGC": upTo(21), "FreeGsNoStack": upTo(24), "ParentID": upTo(20)}
	for _, name := range []string{"GCAssist", "GCDedicated", "GCIdle", "GCPause", "GCTotal", "ScavengeAssist", "ScavengeBg", "ScavengeTotal", "Idle", "User", "Total"} {
		want[name] = upTo(19)
	}
	for i := 22; i <= last; i++ {
		want["GCPauseDist"] = append(want["GCPauseDist"], i)
	}
	for name, in := range missing {
		if slices.Sort(in); !slices.Equal(in, want[name]) {
			t.Errorf("%s is unknown in %v, want %v", name, in, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("known everywhere: %v", want)
	}
}

// TestNoOffsets: a program of an unknown release has none.
func TestNoOffsets(t *testing.T) {
	for _, f := range []*File{{}, {Minor: 99, Version: "go1.99"}, {Minor: 26, Version: "go1.26-devel"}} {
		if got := f.Sched(); got != (Sched{-1, -1, -1, -1, -1, -1, -1, -1}) {
			t.Errorf("%+v: %+v", f, got)
		}
	}
	if got := (&File{Minor: 26, Version: "go1.26.8"}).Sched(); got != scheds[26] {
		t.Errorf("%+v", got)
	}
	if noLayout.GCPercent != -1 || noLayout.Total != -1 || noLayout.Source != "" {
		t.Errorf("%+v", noLayout)
	}
}
