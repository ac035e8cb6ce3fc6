// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"sync/atomic"

	"github.com/snug-go/snug/adapt"
)

// A server sheds load while the memory limit presses on the garbage collector, and leaves room
// for memory outside Go.
func ExampleWatch() {
	var shedding atomic.Bool
	w, err := adapt.Watch(context.Background(), adapt.Options{
		Memory:     true,
		OnPressure: func(p adapt.Pressure) { shedding.Store(p.Level >= adapt.PressureTight) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Undo()
	http.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if shedding.Load() {
			http.Error(rw, "try again later", http.StatusServiceUnavailable)
			return
		}
		rw.Write([]byte("hello\n"))
	})
	log.Print(http.ListenAndServe("localhost:8080", nil))
}

// Print what the process waits for, and all figures as JSON. The program imports adapt/auto.
func ExampleCurrent() {
	w := adapt.Current()
	if v := w.Plan().Verdict; v == adapt.VerdictTooFewProcs {
		log.Print("Ps are held in system calls: set SNUG_ADAPT=cpu")
	}
	http.HandleFunc("/debug/snug", func(rw http.ResponseWriter, r *http.Request) {
		json.NewEncoder(rw).Encode(w.Stats())
	})
}
