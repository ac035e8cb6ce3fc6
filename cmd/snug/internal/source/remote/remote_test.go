// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

func pack(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func server(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("method %s", r.Method)
		}
		io.WriteString(w, "go_info 1\n")
	})
	mux.HandleFunc("/user", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		io.WriteString(w, user+" "+password+" "+r.URL.RawQuery)
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(pack(t, []byte("packed")))
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) { w.Write(pack(t, make([]byte, 8<<20))) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<20+1))
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/never", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/stops", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(r.PathValue("n")); n > 1 {
			http.Redirect(w, r, "/hop/"+strconv.Itoa(n-1), http.StatusFound)
		} else {
			http.Redirect(w, r, "/plain", http.StatusFound)
		}
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestURL(t *testing.T) {
	base := server(t)
	for path, c := range map[string]struct{ want, err string }{
		"/plain":   {"go_info 1\n", ""},
		"/packed":  {"packed", ""},
		"/hop/3":   {"go_info 1\n", ""},
		"/hop/4":   {"", "more than 3 redirects"},
		"/file":    {"", `unsupported protocol scheme "file"`},
		"/none?k":  {"", "answer 404 Not Found"},
		"/bomb":    {"", "unpacks to more than 200 times its size"},
		"/endless": {"", "more than 1 MiB"},
		"/cut":     {"", "unexpected EOF"},
	} {
		t.Run(path, func(t *testing.T) {
			got, err := fetch(t.Context(), base+path, bounded.Limits{Bytes: 1 << 20})
			if c.err == "" && (err != nil || got != c.want) {
				t.Errorf("%q, %v", got, err)
			}
			name, _, _ := strings.Cut(base+path, "?")
			if c.err != "" && (err == nil || err.Error() != name+": "+c.err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func fetch(ctx context.Context, target string, l bounded.Limits) (string, error) {
	s, err := Open(ctx, target, time.Minute, l)
	if err != nil {
		return "", err
	}
	defer s.Close()
	b, err := io.ReadAll(s)
	return string(b), err
}

// TestURLTooLong checks that an answer with too large a declared length is not read.
func TestURLTooLong(t *testing.T) {
	url := server(t) + "/long"
	s, err := Open(t.Context(), url, time.Minute, bounded.Limits{Bytes: 1 << 20})
	if !errors.Is(err, bounded.ErrTooMuch) || err.Error() != url+": more than 1 MiB" {
		t.Errorf("error %v", err)
	}
	if err == nil {
		s.Close()
	}
	if s, err = Open(t.Context(), url, time.Minute, bounded.Limits{Bytes: 1<<20 + 1}); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestURLSecrets checks that user, password and query are used but not shown.
func TestURLSecrets(t *testing.T) {
	base, _ := url.Parse(server(t))
	base.User = url.UserPassword("joe", "hunter2")
	base.Path, base.RawQuery = "/user", "token=x"
	s, err := Open(t.Context(), base.String(), time.Minute, bounded.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, _ := io.ReadAll(s); string(b) != "joe hunter2 token=x" {
		t.Errorf("%q", b)
	}
	if want := "http://" + base.Host + "/user"; s.Name != want {
		t.Errorf("name %s, want %s", s.Name, want)
	}
	for _, path := range []string{"/none", "/file"} {
		base.Path = path
		if _, err := Open(t.Context(), base.String(), time.Minute, bounded.Limits{}); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "token") {
			t.Errorf("error %v", err)
		}
	}
	base.Host, base.Path = "127.0.0.1:1", "/"
	if _, err := Open(t.Context(), base.String(), time.Minute, bounded.Limits{}); err == nil || !strings.HasSuffix(err.Error(), "connection refused, http://127.0.0.1:1/") && !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
}

func TestURLNeverAnswers(t *testing.T) {
	base := server(t)
	_, err := Open(t.Context(), base+"/never", time.Millisecond, bounded.Limits{})
	if err == nil || err.Error() != base+"/never: no answer within 1ms" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := Open(ctx, base+"/never", time.Minute, bounded.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestURLStops checks cancellation in the middle of an answer, and the limit on a pause.
func TestURLStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, server(t)+"/stops", time.Minute, bounded.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := io.ReadAll(io.LimitReader(s, 4)); string(b) != "some" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	cancel()
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r, w := io.Pipe()
		b := newBody(ctx, cancel, r, 2*time.Hour)
		context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
		time.Sleep(time.Hour) // nobody reads
		go w.Write([]byte("x"))
		if _, err := b.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(make([]byte, 1)); err == nil || err.Error() != "nothing for 30s" {
			t.Errorf("error %v", err)
		}
	})
}

// TestURLDrips checks that a very slow answer ends, and that time between reads does not count.
func TestURLDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r, w := io.Pipe()
		b := newBody(ctx, cancel, r, 5*time.Minute)
		context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
		var drips sync.WaitGroup
		drips.Go(func() {
			for {
				time.Sleep(time.Second)
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
			}
		})
		for range 200 {
			if _, err := b.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		got, err := io.ReadAll(b)
		if err == nil || err.Error() != "not complete after 5m0s" || len(got) < 90 || len(got) > 110 {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
		drips.Wait()
	})
}

// TestNotURL checks that a name that is no URL is not shown: it may hold a password.
func TestNotURL(t *testing.T) {
	for _, name := range []string{"http://", "http://u:secret@[::1/a?b", "HTTPS://u:secret@:x/a?b=c"} {
		if s, err := Open(t.Context(), name, time.Minute, bounded.Limits{}); err == nil {
			s.Close()
			t.Errorf("%s was opened", name)
		} else if err.Error() != "URL: not a URL" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirectOutOfTLS(t *testing.T) {
	request := func(u string) *http.Request { r, _ := http.NewRequest("GET", u, nil); return r }
	from, to := request("https://a/"), request("http://a/")
	if err := redirect(to, []*http.Request{from}); err == nil {
		t.Error("followed from https to http")
	}
	if err := redirect(from, []*http.Request{to}); err != nil {
		t.Error(err)
	}
}
