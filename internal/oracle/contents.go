// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// State is what is known of a figure.
type State int

const (
	None State = iota
	Unknown
	Known
)

// A Quota holds the texts of a group's bandwidth files, and their meaning. The zero Quota is no
// limit.
type Quota struct {
	Max         string // cpu.max
	CFS, Period string // cpu.cfs_quota_us and cpu.cfs_period_us
	State       State
	Cores       float64
	// Bare: the quota has a meaning without the period.
	Bare bool
}

// A Size holds the text of a memory limit file, and its meaning. The zero Size is no limit.
type Size struct {
	Text  string
	State State
	Bytes int64
}

// QuotaOf returns a quota as the kernel prints it.
func QuotaOf(micros, period int64) Quota {
	return Quota{
		Max: fmt.Sprintf("%d %d\n", micros, period), CFS: fmt.Sprintf("%d\n", micros), Period: fmt.Sprintf("%d\n", period),
		State: Known, Cores: float64(micros) / float64(period),
	}
}

func noQuota(period int64) Quota {
	return Quota{Max: fmt.Sprintf("max %d\n", period), CFS: "-1\n", Period: fmt.Sprintf("%d\n", period), State: None,
		Bare: true}
}

// SizeOf returns a memory limit as the kernel prints it.
func SizeOf(bytes int64) Size {
	return Size{Text: fmt.Sprintf("%d\n", bytes), State: Known, Bytes: bytes}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// frame adds meaningless ASCII white space around a text, or removes the newline.
func frame(r *rand.Rand, text string) string {
	blank := func() string { return strings.Repeat(pick(r, " ", "\t", "\r", "\v", "\f", "\n"), r.IntN(3)) }
	if r.IntN(2) == 0 {
		return text + "\n"
	}
	return blank() + text + blank()
}

// nonsense returns a text that is not a number, as no kernel prints it: its meaning is unknown.
func nonsense(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return pick(r, "", "\n", " ", "\x00", "MAX", "maximum", "+5", "1e5", "0x10", "1.5", "1_000", "１", "- 1", "--1", "-",
			"max max max",
			"5\x00", "\u00855\n", "\u00a05\n", "5\n6\n", "5 6 7\n", "nan", "inf", "-1x", "١", "-1 100000", "5-", "max100000")
	}
	b := make([]byte, 1+r.IntN(20))
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return string(b) + pick(r, "?", "x", "\xff", "~") // not a number, whatever precedes it
}

// anyQuota returns a quota that files may show but no kernel has written: from emulations, and from
// files put in their place. Its meaning is known because the text is made from it.
func anyQuota(r *rand.Rand) Quota {
	period := pick(r, int64(1), 1000, 20000, 100000, 1000000, math.MaxInt64)
	micros := pick(r, int64(1), 999, 1000, 50000, 150000, 5000000, 17592186044415, math.MaxInt64)
	q := QuotaOf(micros, period)
	switch r.IntN(8) {
	case 0:
		q = noQuota(period)
		q.Max = frame(r, fmt.Sprintf("max%s%d", strings.Repeat(" ", 1+r.IntN(2)), period))
		q.CFS = frame(r, pick(r, "-1", "-2", "-100000", "-9223372036854775808"))
	case 1: // the period may be missing, as in a write; the kernel's default is 100 ms
		q.Cores, q.Max, q.Period = float64(micros)/100000, frame(r, fmt.Sprint(micros)), frame(r, "100000")
	case 2:
		q = noQuota(100000)
		q.Max = frame(r, "max")
	case 3: // the kernel enforces nothing usable
		zero := pick(r, [2]int64{0, period}, [2]int64{micros, 0}, [2]int64{0, 0})
		q = QuotaOf(zero[0], zero[1])
		q.State, q.Cores = None, 0
	case 4:
		q.Max, q.CFS = frame(r, fmt.Sprintf("%03d  %05d", micros, period)), frame(r, fmt.Sprintf("%05d", micros))
	case 5, 6:
		q = Quota{Max: nonsense(r), CFS: nonsense(r), Period: q.Period, State: Unknown, Bare: true}
	case 7:
		bad := nonsense(r)
		q.State, q.Max, q.Period = Unknown, fmt.Sprintf("%s %s\n", pick(r, "max", fmt.Sprint(micros)), bad), bad
		if strings.Trim(bad, " \t\n\v\f\r") == "" {
			q.Max = "max x\n"
		}
	}
	return q
}

// anySize is the same for memory. From 2^62 bytes on there is no limit: v1 prints the largest
// multiple of a page that fits an int64, older kernels nearly 2^64.
func anySize(r *rand.Rand) Size {
	switch r.IntN(4) {
	case 0:
		return Size{Text: frame(r,
			pick(r, "max", "-1", "4611686018427387904", "9223372036854771712", "9223372036854710272", "9223372036854775807",
				"18446744073709551615", "18446744073709547520", "18446744073709551616", "99999999999999999999999")), State: None}
	case 1:
		text := nonsense(r)
		if strings.TrimSpace(text) == "max" {
			text = "?"
		}
		return Size{Text: text, State: Unknown}
	}
	n := pick(r, 1, 4096, 1<<20, 64<<20, 100<<20, 1<<30, 1<<40, 1<<62-1, r.Int64N(1<<40)+1)
	return Size{Text: frame(r, pick(r, "%d", "%015d", "%d")), State: Known, Bytes: n}.filled()
}

// filled inserts the number into a text that has a placeholder for it.
func (s Size) filled() Size {
	s.Text = fmt.Sprintf(s.Text, s.Bytes)
	return s
}
