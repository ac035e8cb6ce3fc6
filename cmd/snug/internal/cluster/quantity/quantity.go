// SPDX-License-Identifier: Apache-2.0

// Package quantity parses amounts of CPU and memory, exactly as Kubernetes does.
package quantity

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Quantity is an amount: cores, bytes, or a divisor of one of them. The zero Quantity is 0. It
// is a whole number of billionths; like Kubernetes, Parse rounds smaller fractions up.
type Quantity struct {
	text string
	nano *big.Int // nil = 0
}

// maxText bounds an amount, in bytes; no real amount is longer.
const maxText = 64

// maxExponent bounds a decimal exponent. An amount beyond it is above that of any machine, or
// rounds up to one billionth.
const maxExponent = 60

// The suffixes: powers of 1024, and powers of ten.
var (
	binary  = map[string]int{"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
	decimal = map[string]int{"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
)

var form = regexp.MustCompile(`^([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))$`)

// Parse parses an amount:
//
//	<quantity> ::= [+-] <number> [suffix]
//	<number>   ::= digits | digits.digits | digits. | .digits
//	<suffix>   ::= Ki Mi Gi Ti Pi Ei | n u m k M G T P E | e|E [+-] digits
//
// Source: k8s.io/apimachinery/pkg/api/resource, Quantity.
func Parse(text string) (Quantity, bool) {
	if len(text) > maxText {
		return Quantity{}, false
	}
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Quantity{}, false
	}
	n, _ := new(big.Rat).SetString("0" + m[2])
	thousands, isBinary := binary[m[4]]
	tens, isDecimal := decimal[m[4]]
	switch {
	case isBinary:
		n.Mul(n, power(1024, thousands))
	case m[3] != "":
		tens, _ = strconv.Atoi(m[3]) // or the most that fits
		fallthrough
	case isDecimal:
		n.Mul(n, power(10, max(-maxExponent, min(maxExponent, tens))))
	default:
		return Quantity{}, false
	}
	n.Mul(n, power(10, 9))
	nano := ceilDiv(n.Num(), n.Denom())
	if m[1] == "-" {
		nano.Neg(nano)
	}
	return Quantity{text, nano}, true
}

// power returns a power of a number.
func power(of int64, exponent int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(of), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// ceilDiv returns n/d rounded up, for n >= 0.
func ceilDiv(n, d *big.Int) *big.Int {
	q, m := new(big.Int).QuoRem(n, d, new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// String returns the text that was parsed.
func (q Quantity) String() string { return q.text }

// Sign returns -1, 0 or 1.
func (q Quantity) Sign() int {
	if q.nano == nil {
		return 0
	}
	return q.nano.Sign()
}

// Value returns the amount in whole units (cores, bytes), rounded up, at most the largest
// int64. It returns 0 for negative amounts.
func (q Quantity) Value() int64 { return q.in(1e9) }

// Milli returns the amount in thousandths, rounded up, at most the largest int64. It returns 0
// for negative amounts.
func (q Quantity) Milli() int64 { return q.in(1e6) }

// in returns the amount in a number of billionths.
func (q Quantity) in(unit int64) int64 {
	if q.Sign() <= 0 {
		return 0
	}
	n := ceilDiv(q.nano, big.NewInt(unit))
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

// Divided returns the downward API's value for an amount: CPU in thousandths divided by
// thousandths, anything else in whole units divided by whole units, rounded up. A divisor of 0
// counts as 1. Source: convertResourceCPUToString and
// convertResourceMemoryToString of k8s.io/kubernetes/pkg/api/v1/resource.
func (q Quantity) Divided(by Quantity, cpu bool) int64 {
	amount, unit := q.Value(), by.Value()
	if cpu {
		amount, unit = q.Milli(), by.Milli()
	}
	if by.Sign() <= 0 {
		unit = 1
		if cpu {
			unit = 1000
		}
	}
	n := amount / unit
	if amount%unit > 0 {
		n++
	}
	return n
}

// IsOne reports whether a divisor does not change an amount: it is 1, or 0, which the API
// server stores for a missing one.
func (q Quantity) IsOne() bool { return q.Sign() == 0 || q.nano.Cmp(big.NewInt(1e9)) == 0 }

var (
	dockerSize  = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKmMgGtTpP]?)(?:[iI]?[bB])?$`)
	systemdSize = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)[ \t]*([KMGTPE]?)B?$`)
	number      = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?$`)
	duration    = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(us|µs|ms|s)?$`)
)

// Docker parses a size in a compose file, in bytes:
//
//	512m  1.5gb  1GiB  536870912
//
// Every suffix is a power of 1024. Source: docs.docker.com/reference/compose-file,
// extension "byte values"; RAMInBytes of github.com/docker/go-units.
func Docker(text string) (Quantity, bool) {
	return sized(text, dockerSize.FindStringSubmatch(text))
}

// Systemd parses a size in a unit, in bytes: 512M, 1.5G, in powers of 1024. "infinity" is 0, no limit. The result is
// false for shares of the machine's memory (50%), which are unknown.
// Source: systemd.resource-control(5), parse_size of src/basic/parse-util.c.
func Systemd(text string) (Quantity, bool) {
	if text == "infinity" {
		return Quantity{text: text}, true
	}
	m := systemdSize.FindStringSubmatch(text)
	if m != nil && strings.HasSuffix(text, "B") && m[2] != "" {
		return Quantity{}, false // systemd ignores it
	}
	return sized(text, m)
}

// sized parses a number and a letter for a power of 1024.
func sized(text string, m []string) (Quantity, bool) {
	if m == nil || len(text) > maxText {
		return Quantity{}, false
	}
	suffix := strings.ToUpper(m[2])
	if suffix != "" {
		suffix += "i"
	}
	q, ok := Parse(m[1] + suffix)
	q.text = text
	return q, ok
}

// Cores parses a number of CPUs in a compose file: 0.5, 2; 0 is no limit.
func Cores(text string) (Quantity, bool) {
	if !number.MatchString(text) {
		return Quantity{}, false
	}
	return Parse(text)
}

// Percent parses CPU time in a unit: 150% is 1.5 cores.
// Source: CPUQuota= of systemd.resource-control(5).
func Percent(text string) (Quantity, bool) {
	n, ok := strings.CutSuffix(text, "%")
	if !ok || !number.MatchString(n) {
		return Quantity{}, false
	}
	q, ok := Parse(n + "e-2")
	q.text = text
	return q, ok
}

// Quota returns the CPUs of a quota and a period of the completely fair scheduler, in
// microseconds or with a unit; period "" = 100 ms. A quota of 0 or below is no limit.
// Source: docs.docker.com/reference/compose-file/services, cpu_quota.
func Quota(quota, period string) (Quantity, bool) {
	if n, err := strconv.ParseInt(quota, 10, 64); err == nil && n <= 0 {
		return Quantity{text: quota}, true
	}
	if period == "" || period == "0" {
		period = "100ms"
	}
	q, ok := micros(quota)
	p, ok2 := micros(period)
	if !ok || !ok2 || p.Sign() <= 0 {
		return Quantity{}, false
	}
	cores := ceilDiv(new(big.Int).Mul(q.nano, big.NewInt(1e9)), p.nano)
	text := new(big.Rat).SetFrac(cores, big.NewInt(1e9)).FloatString(3)
	return Quantity{strings.TrimSuffix(strings.TrimRight(text, "0"), "."), cores}, true
}

func micros(text string) (Quantity, bool) {
	m := duration.FindStringSubmatch(text)
	if m == nil {
		return Quantity{}, false
	}
	return Parse(m[1] + map[string]string{"": "", "us": "", "µs": "", "ms": "e3", "s": "e6"}[m[2]])
}

// MaxCPUs is the maximum number of CPUs of Linux.
const MaxCPUs = 8192

// CPUs returns the number of CPUs in a list such as "0-3,8": cpuset in compose files, or
// AllowedCPUs= and CPUAffinity= in units, where spaces may replace commas. ok is false for an
// empty or invalid list.
func CPUs(list string) (n int, ok bool) {
	var in [MaxCPUs]bool
	for _, part := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t\n", r) }) {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || from > to || to >= MaxCPUs {
			return 0, false
		}
		for i := from; i <= to; i++ {
			if !in[i] {
				n++
			}
			in[i] = true
		}
	}
	return n, n > 0
}
