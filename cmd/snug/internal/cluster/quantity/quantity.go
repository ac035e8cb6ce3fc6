// SPDX-License-Identifier: Apache-2.0

// Package quantity reads amounts of CPU and memory as Kubernetes writes them,
// exactly.
package quantity

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
)

// Quantity is an amount: cores, bytes, or a divisor of one of them. The zero
// Quantity is 0. It is a whole number of billionths: Kubernetes rounds finer
// ones up.
type Quantity struct {
	text string
	nano *big.Int // nil = 0
}

// maxText bounds what is worth reading: no amount of this world needs more.
const maxText = 64

// maxExponent bounds a decimal exponent; what is beyond it is larger than every
// machine, or rounds to one billionth.
const maxExponent = 60

// The suffixes: powers of 1024, and powers of ten.
var (
	binary  = map[string]int{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
	decimal = map[string]int{"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
)

// Parse reads
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

// exponent reads e3, E-2, e+6.
func exponent(suffix string) (int, bool) {
	if len(suffix) < 2 || suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, false
	}
	n, err := strconv.ParseInt(suffix[1:], 10, 32)
	return int(max(-maxExponent, min(maxExponent, n))), err == nil
}

// tens are powers of ten, as many as an amount can ask for.
var tens = sync.OnceValue(func() []*big.Int {
	all := make([]*big.Int, 10+maxText+maxExponent)
	all[0] = big.NewInt(1)
	for i := range all[1:] {
		all[i+1] = new(big.Int).Mul(all[i], big.NewInt(10))
	}
	return all
})

// pow10 is a power of ten, which must not be changed.
func pow10(n int) *big.Int { return tens()[n] }

// ceilDiv is n/d rounded up, for n of 0 or more.
func ceilDiv(n, d *big.Int) *big.Int {
	q, m := new(big.Int).QuoRem(n, d, new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// String is the text that was read.
func (q Quantity) String() string { return q.text }

// Sign is -1, 0 or 1.
func (q Quantity) Sign() int {
	if q.nano == nil {
		return 0
	}
	return q.nano.Sign()
}

// Value is the amount in whole units (cores, bytes), rounded up; at most the
// largest int64. Negative amounts are 0.
func (q Quantity) Value() int64 { return q.in(9) }

// Milli is the amount in thousandths, rounded up; at most the largest int64.
// Negative amounts are 0.
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

// Divided is what the downward API gives for an amount: CPU in thousandths by
// thousandths, anything else in whole units by whole units, rounded up. A
// divisor of 0 is 1. Source: convertResourceCPUToString and
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

// IsOne tells whether a divisor leaves an amount as it is: 1, or 0, which is
// how the API server stores an absent one.
func (q Quantity) IsOne() bool { return q.Sign() == 0 || q.nano.Cmp(pow10(9)) == 0 }
