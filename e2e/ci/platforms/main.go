// SPDX-License-Identifier: Apache-2.0

// Platforms type-checks packages and their tests for other systems. It reads the standard library
// from source, because compiling it for each system takes ten times as long.
//
//	go run ./e2e/ci/platforms [-on GOOS/GOARCH,...] PACKAGE...
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	on := flag.String("on", "darwin/arm64,windows/amd64,linux/arm64,linux/386", "the systems")
	flag.Parse()
	if err := run(strings.Split(*on, ","), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "platforms: error:", err)
		os.Exit(1)
	}
}

func run(systems, patterns []string) error {
	for _, system := range systems {
		goos, arch, _ := strings.Cut(system, "/")
		found, err := packages.Load(&packages.Config{
			// Without NeedExportFile, imported packages are read from source too, without function
			// bodies.
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
				packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
			Tests: true,
			Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
		}, patterns...)
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		if n := packages.PrintErrors(found); n > 0 {
			return fmt.Errorf("%s: %d errors", system, n)
		}
		if len(found) == 0 {
			return fmt.Errorf("%s: no packages in %q", system, patterns)
		}
		fmt.Printf("ok  %s: %d packages and tests\n", system, len(found))
	}
	return nil
}
