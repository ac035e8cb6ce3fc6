// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// server is workload http: a front end that answers GET /, and a back end that it calls
// for each request.
//
// The back end is a second listener of the same process, reached over loopback TCP with
// net/http's own client and kept-alive connections. This gives the work of a proxy:
// network I/O, and several goroutines woken per request. The cost is that the back end's
// CPU counts as the program's: with it, everything except the hashing takes about 0.1 ms.
// A back end outside the cgroup would need a CPU of its own, which small machines do not
// have.
type server struct {
	front, back http.Server
	client      *http.Client
	backURL     string
	work        jobs
	running     atomic.Int64 // requests in progress
}

// serve runs a service until SIGTERM, or the end of stdin.
func serve(name string) error {
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end <- os.Interrupt
	}()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	back, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("%s: back end: %w", name, err)
	}
	s := newServer(newJobs(name == "http/gc"), back.Addr().String())
	failed := make(chan error, 2)
	go func() { failed <- s.back.Serve(back) }()
	go func() { failed <- s.front.Serve(front) }()
	if err := send(Event{Event: "listening", URL: "http://" + front.Addr().String() + "/"}); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return fmt.Errorf("%s: %w", name, err)
	case <-end:
		return s.stop(10 * time.Second)
	}
}

func newServer(work jobs, backAddr string) *server {
	s := &server{work: work, backURL: "http://" + backAddr + "/"}
	// More idle connections than callers: opening and closing them would be
	// the work of another program.
	s.client = &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 4096, DisableCompression: true,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}}
	back := http.NewServeMux()
	back.HandleFunc("GET /", s.answerBack)
	s.back.Handler = back
	front := http.NewServeMux()
	front.HandleFunc("GET /{$}", s.answer)
	s.front.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.running.Add(1)
		defer s.running.Add(-1)
		front.ServeHTTP(w, r)
	})
	s.front.ReadHeaderTimeout = 10 * time.Second
	s.back.ReadHeaderTimeout = 10 * time.Second
	return s
}

// stop closes the listener and lets requests finish, for at most d.
func (s *server) stop(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.front.Shutdown(ctx) }()
	// Shutdown waits 5 s for connections without any request
	// (golang.org/issue/22682); they have no work to finish.
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for begin := time.Now(); ; {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%d requests not finished %v after the signal to end", s.running.Load(), d)
			}
			return nil
		case <-look.C:
			if time.Since(begin) > time.Second && s.running.Load() == 0 {
				return nil
			}
		}
	}
}

func (s *server) answerBack(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, s.work.list())
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	reply, err := s.work.do(r.Context(), s.client, s.backURL)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	writeJSON(w, reply)
}

func writeJSON(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(b, '\n')) // an error means that the client has gone
}
