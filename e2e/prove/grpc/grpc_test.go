// SPDX-License-Identifier: Apache-2.0

// Package grpc loads a server of grpc-go by snug's load generator.
package grpc

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/snug-go/snug/e2e/internal/programs"
)

// TestUnary: every call that snug counts reached the server, and a status other than OK is an
// error with its text.
func TestUnary(t *testing.T) {
	snug := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		calls.Add(1)
		return next(ctx, req)
	}))
	all := health.NewServer()
	all.SetServingStatus("books", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, all)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer s.Stop()
	for _, tt := range []struct{ method, service, want string }{
		{"grpc.health.v1.Health/Check", "", ""},
		{"grpc.health.v1.Health/Check", "books", ""},
		{"grpc.health.v1.Health/Check", "films", "gRPC status 5 unknown service"},
		{"grpc.health.v1.Health/Nothing", "", "gRPC status 12 unknown method Nothing"},
	} {
		message, err := proto.Marshal(&grpc_health_v1.HealthCheckRequest{Service: tt.service})
		if err != nil {
			t.Fatal(err)
		}
		body := filepath.Join(t.TempDir(), "message")
		if err := os.WriteFile(body, message, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, load := range []string{"--users=4", "--load=100/s"} {
			calls.Store(0)
			doc, failure := bench(t, snug, load, "--grpc", tt.method, "--body", "@"+body, "--url", "http://"+l.Addr().String())
			if tt.want != "" {
				if !strings.Contains(failure, tt.want) || !strings.Contains(failure, "hint: call it by hand: --grpc takes") {
					t.Errorf("%s of %q, %s: %q; want %q", tt.method, tt.service, load, failure, tt.want)
				}
				continue
			}
			if len(doc.Cells) == 0 {
				t.Fatalf("%s of %q, %s: nothing measured\n%s", tt.method, tt.service, load, failure)
			}
			if r := doc.Cells[0].Rounds[0]; r.Ops == 0 || r.Errors != 0 || calls.Load() < r.Ops {
				t.Errorf("%s of %q, %s: %+v, the server saw %d\n%s", tt.method, tt.service, load, r, calls.Load(), failure)
			}
		}
	}
}

type document struct {
	Cells []struct {
		Rounds []struct {
			Ops, Errors int64
			Error       string
		}
	}
}

// bench measures one round, in a window that doubles until something is answered.
func bench(t *testing.T, snug string, args ...string) (document, string) {
	t.Helper()
	for window := 300 * time.Millisecond; ; window *= 2 {
		cmd := exec.Command(snug, append([]string{"bench", "--json", "--objective", "none", "--rounds", "1", "--warmup", "100ms", "--window", window.String()}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		failed := cmd.Run()
		var d document
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatalf("%v, %s\n%s", err, out.String(), errs.String())
		}
		if failed != nil && strings.Contains(errs.String(), "status ") || len(d.Cells) > 0 && d.Cells[0].Rounds[0].Ops > 0 || window > 10*time.Second {
			return d, errs.String()
		}
	}
}
