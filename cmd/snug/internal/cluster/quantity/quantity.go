// SPDX-License-Identifier: Apache-2.0

// Package quantity parses amounts of CPU and memory, exactly as Kubernetes does.
package quantity

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
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
	binary  = map[string]int{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
	decimal = map[string]int{"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
)

// Parse parses an amount:
//
//	<quantity> ::= [+-] <number> [suffix]
//	<number>   ::= digits | digits.digits | digits. | .digits
//	<suffix>   ::= Ki Mi Gi Ti Pi Ei | n u m k M G T P E | e|E [+-] digits
//
// Source: k8s.io/apimachinery/pkg/api/resource, Quantity.
func Parse(text string) (Quantity, bool) {
	if len(text) == 0 || len(text) > maxText {
		return Quantity{}, false
	}
	rest := text
	negative := rest[0] == '-'
	if negative || rest[0] == '+' {
		rest = rest[1:]
	}
	end := 0
	for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || rest[end] == '.') {
		end++
	}
	whole, fraction, _ := strings.Cut(rest[:end], ".")
	if whole+fraction == "" || strings.Contains(fraction, ".") {
		return Quantity{}, false
	}
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return Quantity{}, false
	}
	power := 9 - len(fraction)
	suffix := rest[end:]
	if shift, ok := binary[suffix]; ok {
		n.Lsh(n, uint(shift))
	} else if p, ok := decimal[suffix]; ok {
		power += p
	} else if p, ok := exponent(suffix); ok {
		power += p
	} else {
		return Quantity{}, false
	}
	if power >= 0 {
		n.Mul(n, pow10(power))
	} else {
		n = ceilDiv(n, pow10(-power))
	}
	if negative {
		n.Neg(n)
	}
	return Quantity{text, n}, true
}

// exponent parses e3, E-2, e+6.
func exponent(suffix string) (int, bool) {
	if len(suffix) < 2 || suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, false
	}
	n, err := strconv.ParseInt(suffix[1:], 10, 32)
	return int(max(-maxExponent, min(maxExponent, n))), err == nil
}

// tens are the powers of ten that an amount can need.
var tens = sync.OnceValue(func() []*big.Int {
	all := make([]*big.Int, 10+maxText+maxExponent)
	all[0] = big.NewInt(1)
	for i := range all[1:] {
		all[i+1] = new(big.Int).Mul(all[i], big.NewInt(10))
	}
	return all
})

// pow10 returns a power of ten. The caller must not change it.
func pow10(n int) *big.Int { return tens()[n] }

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
func (q Quantity) Value() int64 { return q.in(9) }

// Milli returns the amount in thousandths, rounded up, at most the largest int64. It returns 0
// for negative amounts.
func (q Quantity) Milli() int64 { return q.in(6) }

func (q Quantity) in(power int) int64 {
	if q.Sign() <= 0 {
		return 0
	}
	n := ceilDiv(q.nano, pow10(power))
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
func (q Quantity) IsOne() bool { return q.Sign() == 0 || q.nano.Cmp(pow10(9)) == 0 }
