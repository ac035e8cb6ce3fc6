// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"encoding/json"
	"fmt"
	"go/version"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// Tool handles the calls of the go command when it runs snug as a vet tool: with -V=full,
// with -flags, and with a .cfg file that describes one package. It returns only if the
// arguments are none of these.
func Tool(args []string, stderr io.Writer) {
	if len(args) == 0 {
		return
	}
	unit := args[len(args)-1]
	switch {
	case len(args) == 1 && (unit == "-V=full" || unit == "-flags"):
	case strings.HasSuffix(unit, ".cfg") && (len(args) == 1 || strings.HasPrefix(args[0], "-")):
		// The go command sets GOVERSION for its tools.
		if with := os.Getenv("GOVERSION"); newer(with) {
			if forTypes(unit) {
				os.Exit(message.ExitFine)
			}
			fmt.Fprintln(stderr, "snug: error: "+tooOld(with))
			os.Exit(message.ExitFailed)
		}
	default:
		return
	}
	unitchecker.Main(vet.Analyzers()...)
}

// forTypes reports whether only the types of a package are needed, by packages that import it.
func forTypes(unit string) bool {
	text, err := bounded.ReadFile(unit, maxSource)
	var c unitchecker.Config
	return err == nil && json.Unmarshal(text, &c) == nil && c.VetxOnly
}

// newer reports whether a release of Go, such as go1.27.1, is newer than the one that built
// snug, ignoring patch releases.
func newer(with string) bool {
	return version.Compare(version.Lang(with), version.Lang(runtime.Version())) > 0
}

// tooOld says why packages of a newer Go cannot be vetted: go/types rejects a language
// version newer than its own.
func tooOld(with string) string {
	return "built with " + runtime.Version() + ", which cannot read packages of " + with + "; build snug with " + with
}
