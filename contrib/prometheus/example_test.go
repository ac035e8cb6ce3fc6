// SPDX-License-Identifier: Apache-2.0

package snugprom_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	snugprom "github.com/snug-go/snug/contrib/prometheus"
)

// A server fits itself, follows its limits, and exports both at /metrics.
func ExampleNew() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := snug.Watch(ctx, snug.WatchOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	prometheus.MustRegister(snugprom.New(w))

	http.Handle("/metrics", promhttp.Handler())
	server := httptest.NewServer(nil) // http.ListenAndServe(":8080", nil) in a program
	defer server.Close()

	resp, err := http.Get(server.URL + "/metrics")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(strings.Contains(string(text), "\nsnug_watching 1\n"))
	// Output: true
}

// A Watcher of package adapt exports what it measures as well.
func ExampleNewAdapt() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := adapt.Watch(ctx, adapt.Options{Memory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	fmt.Println(registry.Register(snugprom.NewAdapt(w)))
	// Output: <nil>
}
