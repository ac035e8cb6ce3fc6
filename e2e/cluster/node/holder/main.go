// SPDX-License-Identifier: Apache-2.0

// Holder is a service with a live heap and with memory that is not Go's, as C code or a cache in a mapping has. The variable
// HOLD is LIVE,OUTSIDE in MiB. A request makes garbage, and answers what collecting it took.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const mib = 1 << 20

// object is a piece of the live heap with a pointer, so that the collector has to look at it. With the runtime's header of 8 bytes
// it fills a size class (runtime/sizeclasses.go).
type object struct {
	next *object
	body [objectSize - 16]byte
}

const objectSize = 8 << 10

var (
	kept    []*object
	outside []byte
	Sink    []byte // exported, so that what goes there is made on the heap
)

// work makes that much garbage in MiB, in pieces of 16 KiB, and computes each of their bytes: what collecting takes is a small part
// of it, so that the runtime need not let the heap pass its goal (runtime/mgclimit.go).
func work(mebibytes int) {
	h := uint64(14695981039346656037)
	for range mebibytes * 64 {
		piece := make([]byte, 16<<10)
		for i := range piece {
			h = (h ^ uint64(i)) * 1099511628211
			piece[i] = byte(h >> 32)
		}
		Sink = piece
	}
}

// collections returns how many there were, and the CPU seconds that they took.
func collections() (n uint64, seconds float64) {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Float64() - s[2].Value.Float64()
}

func hold() error {
	live, rest, _ := strings.Cut(os.Getenv("HOLD"), ",")
	inside, err := strconv.Atoi(live)
	if err != nil {
		return err
	}
	beside, err := strconv.Atoi(rest)
	if err != nil {
		return err
	}
	if beside > 0 {
		if outside, err = syscall.Mmap(-1, 0, beside*mib, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err != nil {
			return err
		}
		for i := 0; i < len(outside); i += 4096 {
			outside[i] = 1
		}
	}
	kept = make([]*object, inside*mib/objectSize)
	for i := range kept {
		kept[i] = &object{next: kept[i/2]}
		for at := 0; at < objectSize-16; at += 4080 {
			kept[i].body[at] = 1 // touch every page
		}
	}
	return nil
}

func main() {
	if err := hold(); err != nil {
		panic(err)
	}
	var turn sync.Mutex
	http.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		mebibytes, err := strconv.Atoi(r.FormValue("mib"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		turn.Lock()
		defer turn.Unlock()
		n, seconds := collections()
		work(mebibytes)
		after, took := collections()
		_ = json.NewEncoder(w).Encode(map[string]any{"collections": after - n, "seconds": took - seconds})
	})
	http.HandleFunc("/self", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "{\"limit\": \"%d\"}\n", debug.SetMemoryLimit(-1))
	})
	if err := http.ListenAndServe(":8080", nil); err != nil {
		panic(err)
	}
}
