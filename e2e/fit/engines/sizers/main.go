// SPDX-License-Identifier: Apache-2.0

// Sizers imports automaxprocs or automemlimit, lets it set its knob and prints the result.
package main

import (
	"encoding/json"
	"log"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/automaxprocs/maxprocs"
)

func main() {
	var err error
	switch os.Args[1] {
	case "automaxprocs":
		_, err = maxprocs.Set(maxprocs.Logger(log.Printf))
	case "automemlimit":
		_, err = memlimit.Set(memlimit.WithLogger(slog.Default()))
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"gomaxprocs": runtime.GOMAXPROCS(0), "gomemlimit": debug.SetMemoryLimit(-1), "error": said,
	})
}
