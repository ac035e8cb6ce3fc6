// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"strconv"
	"strings"
)

// The parsers report only whether a text is valid. Want describes the valid form.

// ParseBytes parses a size from 1 byte to below 8 EiB: 512Mi, 512MiB, 1.5G, 268435456. It
// rejects a lower-case m, which means mebibytes to Docker and thousandths to Kubernetes.
func ParseBytes(text string) (int64, bool) {
	text = strings.TrimSuffix(text, "B")
	base := 1000.0
	if rest, ok := strings.CutSuffix(text, "i"); ok {
		text, base = rest, 1024
	}
	factor := 1.0
	if n := len(text); n > 0 {
		power := strings.IndexByte("KMGT", text[n-1]) + 1
		if text[n-1] == 'k' && base == 1000 {
			power = 1
		}
		if power > 0 {
			text = text[:n-1]
		} else if base == 1024 {
			return 0, false
		}
		for range power {
			factor *= base
		}
	}
	x, ok := ParseDecimal(text)
	x *= factor
	return int64(x), ok && x >= 1 && x < math.MaxInt64
}

// ParseCPUs parses a number of cores from 0.001 to a million: 1.5 or 1500m.
func ParseCPUs(text string) (float64, bool) {
	digits, milli := strings.CutSuffix(text, "m")
	x, ok := ParseDecimal(digits)
	if milli {
		x /= 1000
	}
	return x, ok && x >= 0.001 && x <= 1e6
}

// ParseProcs parses a number of Ps, 1 to 8192.
func ParseProcs(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= maxProcs
}

// ParseFactor parses a factor above 0 and up to 1000.
func ParseFactor(text string) (float64, bool) {
	x, ok := ParseDecimal(text)
	return x, ok && x > 0 && x <= 1000
}

// minGOMEMLIMIT is the smallest plausible GOMEMLIMIT, in bytes.
const minGOMEMLIMIT = 1 << 10

// ParseMemory parses a GOMEMLIMIT policy: 400MiB, 90%, 99%-100MiB, off.
func ParseMemory(text string) (m Memory, ok bool) {
	share, less, relative := strings.Cut(text, "%")
	switch {
	case text == "off":
		return Memory{Off: true}, true
	case !relative:
		m.Bytes, ok = ParseBytes(text)
		return m, ok && m.Bytes >= minGOMEMLIMIT // 80 is a percentage without its sign
	}
	m.Percent, ok = ParseDecimal(share)
	if !ok || m.Percent <= 0 || m.Percent > 100 {
		return Memory{}, false
	}
	if less != "" {
		if m.Less, ok = ParseBytes(less[1:]); !ok || less[0] != '-' {
			return Memory{}, false
		}
	}
	return m, true
}

// ParseRound parses ceil, floor or nearest, in any case.
func ParseRound(text string) (Round, bool) {
	switch lower(text) {
	case "ceil":
		return Ceil, true
	case "floor":
		return Floor, true
	case "nearest":
		return Nearest, true
	}
	return 0, false
}

// ParseDecimal parses up to 15 digits with at most one point among them: no sign, no exponent.
// The digits and the power of ten are both exact in floating point, so their quotient is the
// number nearest to the text.
func ParseDecimal(text string) (float64, bool) {
	var n, scale float64
	digits := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '.' && scale == 0:
			scale = 1
		case c >= '0' && c <= '9':
			n = n*10 + float64(c-'0')
			scale *= 10
			digits++
		default:
			return 0, false
		}
	}
	return n / max(scale, 1), digits > 0 && digits <= 15
}

// goProcs returns the number of Ps that the Go runtime takes from this GOMAXPROCS variable
// (runtime/proc.go, schedinit): a positive int32; 0 if it ignores the variable.
func goProcs(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int(n)
}

// validGOGC reports whether the Go runtime accepts this GOGC variable (runtime/mgcpacer.go,
// readGOGC).
func validGOGC(text string) bool {
	if text == "off" {
		return true
	}
	_, err := strconv.ParseInt(text, 10, 32)
	return err == nil
}

// parseGoMemory parses what the Go runtime accepts as GOMEMLIMIT: a size, or off. The runtime
// crashes before main on anything else.
func parseGoMemory(text string) (int64, bool) {
	if text == "off" {
		return NoMemLimit, true
	}
	return ParseGoBytes(text)
}

// ParseGoBytes reads a size as the Go runtime does (runtime/string.go, parseByteCount):
// digits and B, KiB, MiB, GiB, TiB or nothing.
func ParseGoBytes(text string) (int64, bool) {
	digits, unit := strings.CutSuffix(text, "B")
	shift := 0
	if end := len(digits) - 2; unit && end >= 0 && digits[end+1] == 'i' {
		shift = 10 * (strings.IndexByte("KMGT", digits[end]) + 1)
		if shift == 0 {
			return 0, false
		}
		digits = digits[:end]
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n) << shift, err == nil && n <= NoMemLimit>>shift
}
