// SPDX-License-Identifier: Apache-2.0

// Program is a typical server: it watches its container and exports snug's metrics beside the Go
// runtime's own. The tests scrape it.
//
// It listens on a free port of the loopback, prints the address, and ends when its standard input
// does.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/snug-go/snug/adapt"
	snugprom "github.com/snug-go/snug/contrib/prometheus"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := adapt.Watch(ctx, adapt.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "program: error:", err)
		os.Exit(1)
	}
	prometheus.MustRegister(snugprom.NewAdapt(w))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "program: error:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	http.Handle("/metrics", promhttp.Handler())
	go func() {
		fmt.Fprintln(os.Stderr, "program:", http.Serve(l, nil))
		os.Exit(1)
	}()
	io.Copy(io.Discard, os.Stdin)
}
