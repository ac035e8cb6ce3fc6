// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"512Mi": 512 << 20, "512MiB": 512 << 20, "1.5G": 1500000000, "1.5GiB": 3 << 29, "268435456": 268435456, "64B": 64,
		"1k": 1000, "1K": 1000, "1kB": 1000, "1KiB": 1024, "1Ki": 1024, "2T": 2e12, "0.5Ki": 512, "1TiB": 1 << 40,
	} {
		if got, ok := ParseBytes(text); !ok || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "12zb", "0", "-1", "+1", "512m", "1e9", "1.2.3", ".", "Mi", "B", "1iB", "1i", "NaN", "0x10", "9999999999TiB", "8388608TiB", "1234567890123456", "1 Mi", "1ki"} {
		if got, ok := ParseBytes(bad); ok {
			t.Errorf("ParseBytes(%q) = %d, want refused", bad, got)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string]float64{"1.5": 1.5, "1500m": 1.5, "2": 2, ".5": 0.5, "250m": 0.25, "0.001": 0.001, "0.1": 0.1} {
		if got, ok := ParseCPUs(text); !ok || got != want {
			t.Errorf("ParseCPUs(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "m", "1.5.5", "NaN", "inf", "1e3", "2000000", "0.0001", "1,5"} {
		if got, ok := ParseCPUs(bad); ok {
			t.Errorf("ParseCPUs(%q) = %v, want refused", bad, got)
		}
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"400MiB": {Bytes: 400 << 20}, "90%": {Percent: 90}, "99%-100MiB": {Percent: 99, Less: 100 << 20}, "off": {Off: true}, "12.5%": {Percent: 12.5},
	} {
		if got, ok := ParseMemory(text); !ok || got != want {
			t.Errorf("ParseMemory(%q) = %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "0%", "101%", "%", "90%100MiB", "90%-", "90%+1MiB", "90%%", "x"} {
		if got, ok := ParseMemory(bad); ok {
			t.Errorf("ParseMemory(%q) = %+v, want refused", bad, got)
		}
	}
}

func TestParseRound(t *testing.T) {
	for text, want := range map[string]Round{"ceil": Ceil, "floor": Floor, "nearest": Nearest, "FLOOR": Floor, "Ceil": Ceil} {
		if got, ok := ParseRound(text); !ok || got != want {
			t.Errorf("ParseRound(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "up", "ceil ", "round"} {
		if got, ok := ParseRound(bad); ok {
			t.Errorf("ParseRound(%q) = %v, want refused", bad, got)
		}
	}
}

// The texts and Go's results are from its own runtime/string.go.
func TestGoSyntax(t *testing.T) {
	for text, want := range map[string]int64{"1024": 1024, "1B": 1, "1KiB": 1024, "400MiB": 400 << 20, "1GiB": 1 << 30, "1TiB": 1 << 40, "off": NoMemLimit, "0": 0} {
		if got, ok := parseGoMemory(text); !ok || got != want {
			t.Errorf("parseGoMemory(%q) = %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "1G", "512Mi", "B", "iB", "KiB", "-1", "1.5GiB", "1gib", "9223372036854775807KiB", "1PiB"} {
		if got, ok := parseGoMemory(bad); ok {
			t.Errorf("parseGoMemory(%q) = %d, want refused", bad, got)
		}
	}
	for text, want := range map[string]bool{"1": true, "16": true, "0": false, "-1": false, "": false, "500m": false, "4294967296": false} {
		if goProcs(text) > 0 != want {
			t.Errorf("goProcs(%q) = %d, want accepted: %v", text, goProcs(text), want)
		}
	}
}

// FuzzQuantities: accepted values are in range, and printing and parsing a plain number gives
// the same number.
func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"512Mi", "1.5G", "1500m", "90%", "99%-100MiB", "off", "12zb", "1TiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := ParseBytes(text); ok {
			if n < 1 {
				t.Errorf("ParseBytes(%q) = %d", text, n)
			}
			if again, ok := ParseBytes(strconv.FormatInt(n, 10)); n < 1e15 && (!ok || again != n) {
				t.Errorf("ParseBytes(%d) = %d", n, again)
			}
		}
		if x, ok := ParseCPUs(text); ok && !(x >= 0.001 && x <= 1e6) {
			t.Errorf("ParseCPUs(%q) = %v", text, x)
		}
		if m, ok := ParseMemory(text); ok && (m.Less < 0 || m.Bytes < 0 || !(m.Percent >= 0 && m.Percent <= 100) || m == (Memory{})) {
			t.Errorf("ParseMemory(%q) = %+v", text, m)
		}
		if x, ok := ParseDecimal(text); ok {
			want, err := strconv.ParseFloat(text, 64)
			if err != nil || math.Float64bits(x) != math.Float64bits(want) {
				t.Errorf("ParseDecimal(%q) = %v, want %v", text, x, want)
			}
		}
		if n, ok := parseGoMemory(text); ok && n < 0 {
			t.Errorf("parseGoMemory(%q) = %d", text, n)
		}
		if strings.ContainsAny(text, "eExX_") {
			if _, ok := ParseBytes(text); ok {
				t.Errorf("ParseBytes takes %q", text)
			}
		}
	})
}
