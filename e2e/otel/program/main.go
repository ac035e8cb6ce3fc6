// SPDX-License-Identifier: Apache-2.0

// Program is a typical service: it watches its container, and sends the figures of the Go runtime
// and of snug to the Collector of OTEL_EXPORTER_OTLP_ENDPOINT, ten times a second. It ends when its
// standard input does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/snug-go/snug/adapt"
	snugotel "github.com/snug-go/snug/contrib/otel"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "program: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	w, err := adapt.Watch(ctx, adapt.Options{})
	if err != nil {
		return err
	}
	registration, err := snugotel.RegisterAdapt(w, nil) // with the global provider, which is set below
	if err != nil {
		return err
	}
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter, metric.WithInterval(100*time.Millisecond))))
	otel.SetMeterProvider(provider)
	if err := runtime.Start(); err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin)
	if err := registration.Unregister(); err != nil {
		return err
	}
	return provider.Shutdown(ctx)
}
