// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// entry returns a record of a ring.
func entry(kind uint32, misc uint16, words ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(headerSize+8*len(words)))
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// sampled returns a sample of process 7, thread 8.
func sampled(misc uint16, chain ...uint64) []byte {
	ids := binary.NativeEndian.Uint64(binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, 7), 8))
	return entry(recordSample, misc, append([]uint64{1, ids, 10, uint64(len(chain))}, chain...)...)
}

func TestDrain(t *testing.T) {
	user, kernel := contextUser, ^uint64(127)
	short := sampled(2, user, 1, 2)
	binary.NativeEndian.PutUint64(short[headerSize+24:], 9) // says 9 addresses, has 3
	long := sampled(2, user, 1)
	binary.NativeEndian.PutUint16(long[6:], 4096)
	tiny := sampled(2, user, 1)
	binary.NativeEndian.PutUint16(tiny[6:], 4)
	for _, tt := range []struct {
		name    string
		records [][]byte
		want    [][]uint64
		kernel  []bool
		lost    uint64
		execed  bool
	}{
		{name: "nothing"},
		{name: "user", records: [][]byte{sampled(2, user, 10, 20, 30)}, want: [][]uint64{{10, 20, 30}}, kernel: []bool{false}},
		{name: "kernel-with-user", records: [][]byte{sampled(1, kernel, 99, user, 10)}, want: [][]uint64{{10}}, kernel: []bool{true}},
		{name: "kernel-only", records: [][]byte{sampled(1)}, want: [][]uint64{nil}, kernel: []bool{true}},
		{name: "guest-is-not-ours", records: [][]byte{sampled(2, user, 10, ^uint64(2047), 20)}, want: [][]uint64{{10}}, kernel: []bool{false}},
		{name: "lost", records: [][]byte{entry(recordLost, 0, 1, 5), entry(recordLostSamples, 0, 3), sampled(2, user, 1)}, want: [][]uint64{{1}}, kernel: []bool{false}, lost: 8},
		{name: "unknown-kinds", records: [][]byte{entry(77, 0, 1, 2), entry(5, 0), sampled(2, user, 1)}, want: [][]uint64{{1}}, kernel: []bool{false}},
		{name: "rename", records: [][]byte{entry(recordComm, 0, 1, 2), sampled(2, user, 1)}, want: [][]uint64{{1}}, kernel: []bool{false}},
		{name: "exec", records: [][]byte{sampled(2, user, 1), entry(recordComm, miscCommExec, 1, 2), sampled(2, user, 2)}, want: [][]uint64{{1}}, kernel: []bool{false}, execed: true},
		{name: "chain-longer-than-record", records: [][]byte{short, sampled(2, user, 1)}, want: [][]uint64{{1}}, kernel: []bool{false}, lost: 1},
		{name: "record-longer-than-ring", records: [][]byte{sampled(2, user, 5), long, sampled(2, user, 1)}, want: [][]uint64{{5}}, kernel: []bool{false}, lost: 1},
		{name: "record-shorter-than-header", records: [][]byte{tiny}, lost: 1},
		{name: "cut", records: [][]byte{{9, 0, 0}}, lost: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// At the end of the ring, so that records wrap around.
			for _, at := range []uint64{0, 512 - 8, 512 - 20, 1<<64 - 16} {
				data := make([]byte, 512)
				head := at
				for _, r := range tt.records {
					for _, b := range r {
						data[head%512] = b
						head++
					}
				}
				var r reader
				var got [][]uint64
				var kernel []bool
				r.drain(data, at, head, func(s record) {
					if s.pid != 7 || s.tid != 8 || s.period != 10 {
						t.Errorf("%+v", s)
					}
					got = append(got, slices.Clone(s.pcs))
					kernel = append(kernel, s.kernel)
				})
				if !slices.EqualFunc(got, tt.want, slices.Equal) || !slices.Equal(kernel, tt.kernel) || r.lost != tt.lost || r.execed != tt.execed {
					t.Errorf("at %d: %v %v, lost %d, execed %v", at, got, kernel, r.lost, r.execed)
				}
			}
		})
	}
}

func TestDrainHostilePositions(t *testing.T) {
	var r reader
	nothing := func(record) { t.Error("a sample out of nothing") }
	r.drain(make([]byte, 512), 0, 513, nothing)
	r.drain(make([]byte, 512), 10, 9, nothing)
	r.drain(nil, 0, 8, nothing)
	r.drain(make([]byte, 100), 0, 8, nothing)
	if r.lost != 2 {
		t.Errorf("lost %d", r.lost)
	}
}

func FuzzDrain(f *testing.F) {
	f.Add(slices.Concat(sampled(2, contextUser, 1, 2), entry(recordLost, 0, 1, 5), sampled(1)), uint64(500))
	f.Add(sampled(2, contextUser, 1), uint64(0))
	f.Fuzz(func(t *testing.T, records []byte, at uint64) {
		const size = 1 << 12
		data := make([]byte, size)
		for i, b := range records[:min(len(records), size)] {
			data[(at+uint64(i))%size] = b
		}
		var r reader
		g := newGather()
		r.drain(data, at, at+uint64(len(records)), func(s record) {
			if len(s.pcs) > size/8 || slices.ContainsFunc(s.pcs, func(pc uint64) bool { return pc >= contextFirst }) {
				t.Errorf("%+v", s)
			}
			g.add(s)
		})
		raw := Raw{Samples: g.samples()}
		if _, err := raw.Profile(nil); err != nil {
			t.Error(err)
		}
	})
}

// TestGather: equal samples are merged, in any order.
func TestGather(t *testing.T) {
	g := newGather()
	for range 3 {
		g.add(record{pid: 1, tid: 2, period: 10, pcs: []uint64{1, 2}})
		g.add(record{pid: 1, tid: 3, period: 10, pcs: []uint64{1, 2}})
		g.add(record{pid: 1, tid: 2, period: 10, kernel: true, pcs: []uint64{1, 2}})
		g.add(record{pid: 1, tid: 2, period: 10})
	}
	all := g.samples()
	if len(all) != 4 || len(g.pcs) != 2 || all[0].Count != 3 || all[0].Nanos != 30 || seconds(all) != 120e-9 {
		t.Errorf("%+v", all)
	}
}

func TestMappings(t *testing.T) {
	const maps = `00400000-00600000 r-xp 00001000 08:02 1 /usr/bin/a b (deleted)
00600000-00700000 rw-p 00000000 08:02 1 /usr/bin/x
7f00-7f00 r-xp 00000000 08:02 1 /empty
zzzz-7f00 r-xp 00000000 08:02 1 /not-hex
7f10 r-xp
7ff000-7ff800 r-xp 00000000 00:00 0          [vdso]
800000-801000 --xp 00000000 00:00 0
`
	got := readMappings(strings.NewReader(maps))
	want := []Mapping{
		{0x400000, 0x600000, 0x1000, "/usr/bin/a b"},
		{0x7ff000, 0x7ff800, 0, "[vdso]"},
		{0x800000, 0x801000, 0, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	later := []Mapping{{0x300000, 0x310000, 0, "/lib"}, {0x500000, 0x900000, 0, "/other"}}
	if got := mergeMappings(got, later); len(got) != 4 || got[0].File != "/lib" || got[1].Start != 0x400000 {
		t.Errorf("%+v", got)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add("00400000-00600000 r-xp 00001000 08:02 1 /usr/bin/a")
	f.Fuzz(func(t *testing.T, line string) {
		if m, ok := parseMapping(line); ok && m.Start >= m.Limit || !ok && m != (Mapping{}) {
			t.Errorf("%+v, %v", m, ok)
		}
	})
}
