// SPDX-License-Identifier: Apache-2.0

package snugotel_test

import (
	"context"
	"fmt"

	goruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	snugotel "github.com/snug-go/snug/contrib/otel"
)

// A program fits itself, follows its limits, and gives both to OpenTelemetry beside the Go runtime's
// own figures.
func ExampleRegister() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := snug.Watch(ctx, snug.WatchOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := sdk.NewManualReader() // sdk.NewPeriodicReader(exporter) in a program
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	defer provider.Shutdown(ctx)

	if err := goruntime.Start(goruntime.WithMeterProvider(provider)); err != nil {
		fmt.Println(err)
		return
	}
	registration, err := snugotel.Register(w, provider)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer registration.Unregister()

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		fmt.Println(err)
		return
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == "snug.watching" || m.Name == "go.processor.limit" {
				fmt.Println(m.Name)
			}
		}
	}
	// Unordered output:
	// go.processor.limit
	// snug.watching
}

// A Watcher of package adapt gives what it measures as well.
func ExampleRegisterAdapt() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := adapt.Watch(ctx, adapt.Options{Memory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	registration, err := snugotel.RegisterAdapt(w, otel.GetMeterProvider())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registration.Unregister())
	// Output: <nil>
}
