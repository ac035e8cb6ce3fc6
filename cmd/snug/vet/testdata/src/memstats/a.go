// SPDX-License-Identifier: Apache-2.0

package memstats

import (
	"net/http"
	"runtime"
	"time"

	"github.com/gin-gonic/gin"
)

func hot() {
	var m runtime.MemStats
	for i := 0; i < 10; i++ {
		runtime.ReadMemStats(&m) // want `memstats-loop`
	}
	for range 10 {
		runtime.ReadMemStats(&m) // want `memstats-loop`
		time.Sleep(10 * time.Millisecond)
	}
}

func handler(w http.ResponseWriter, r *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m) // want `memstats-handler`
}

func framework(c *gin.Context) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m) // want `memstats-handler`
}

func rare(c chan int, every time.Duration) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for range c {
		runtime.ReadMemStats(&m)
	}
	for {
		runtime.ReadMemStats(&m)
		time.Sleep(every)
	}
}

func slow(done chan int) {
	var m runtime.MemStats
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
		runtime.ReadMemStats(&m)
	}
}

func last(all []int) {
	var m runtime.MemStats
	for _, n := range all {
		if n > 3 {
			runtime.ReadMemStats(&m)
			break
		}
	}
	for range all {
		defer func() { runtime.ReadMemStats(&m) }()
	}
}
