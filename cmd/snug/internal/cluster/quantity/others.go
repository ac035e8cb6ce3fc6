// SPDX-License-Identifier: Apache-2.0

package quantity

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

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

// Systemd parses a size in a unit, in bytes: 512M, 1.5G, in powers of 1024. "infinity" is 0,
// no limit. The result is false for shares of the machine's memory (50%), which are unknown. Source: systemd.resource-control(5), parse_size of src/basic/parse-util.c.
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
// microseconds or with a unit; period "" = 100 ms. A quota of 0 or below is no limit. Source: docs.docker.com/reference/compose-file/services, cpu_quota.
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
	cores := new(big.Int).Mul(q.nano, pow10(9))
	cores = ceilDiv(cores, p.nano)
	text := new(big.Rat).SetFrac(cores, pow10(9)).FloatString(3)
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
	for _, part := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
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
