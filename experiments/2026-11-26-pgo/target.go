// SPDX-License-Identifier: Apache-2.0

// The program that is built with and without a profile: a service's work on orders, without
// the network. It reads numbers, does as many operations for each, and prints the nanoseconds of CPU
// time that they took. With PROFILE it writes runtime/pprof's profile of its life to that file.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"os"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

type line struct {
	Article string  `json:"article"`
	Count   int     `json:"count"`
	Price   float64 `json:"price"`
}

type order struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Lines []line `json:"lines"`
}

// rule judges an order. There are several, as in any service with plug-ins.
type rule interface{ judge(o *order) float64 }

type total struct{ discount float64 }

func (t total) judge(o *order) (sum float64) {
	for i := range o.Lines {
		sum += lineTotal(&o.Lines[i]) * (1 - t.discount)
	}
	return sum
}

func lineTotal(l *line) float64 { return float64(l.Count) * l.Price }

type limit struct{ most int }

func (m limit) judge(o *order) float64 {
	n := 0
	for i := range o.Lines {
		n += min(o.Lines[i].Count, m.most)
	}
	return float64(n)
}

type byPrice []line

func (b byPrice) Len() int           { return len(b) }
func (b byPrice) Less(i, j int) bool { return lineTotal(&b[i]) < lineTotal(&b[j]) }
func (b byPrice) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func work(text []byte, rules []rule, sum hash.Hash64) {
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err)
	}
	worth := 0.0
	for range 20 {
		for _, r := range rules {
			worth += r.judge(&o)
		}
	}
	sort.Sort(byPrice(o.Lines))
	var b strings.Builder
	for i := range o.Lines {
		b.WriteString(o.Lines[i].Article)
		b.WriteByte('=')
		b.WriteString(strconv.FormatFloat(lineTotal(&o.Lines[i]), 'f', 2, 64))
		b.WriteByte('\n')
	}
	fmt.Fprintf(sum, "%d %s %.2f\n", o.ID, o.Name, worth)
	sum.Write([]byte(b.String()))
}

func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func main() {
	if name := os.Getenv("PROFILE"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	o := order{ID: 4711, Name: "somebody"}
	for i := range 60 {
		o.Lines = append(o.Lines, line{"article " + strconv.Itoa(i*7919%97), i%5 + 1, float64(i*31%50) + 0.99})
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	rules := []rule{total{0.1}, limit{3}, total{0.02}, limit{9}}
	sum := fnv.New64a()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			panic(err)
		}
		before := cpu()
		for range n {
			work(text, rules, sum)
		}
		fmt.Println(cpu()-before, sum.Sum64())
	}
}
