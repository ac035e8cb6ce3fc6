// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// ChildMain makes this process a workload if its first argument is "workload", and then
// does not return. Call it first in snug's main function, and in TestMain of a package
// that starts workloads.
func ChildMain() {
	if len(os.Args) < 2 || os.Args[1] != "workload" {
		return
	}
	e, o, err := parse(os.Args[2:])
	if err != nil {
		os.Exit(fail(2, err))
	}
	if e.kind == service {
		err = serve(e.name)
	} else {
		err = drive(e.name, e.make(o), o)
	}
	if err != nil {
		os.Exit(fail(1, err))
	}
	os.Exit(0)
}

// Args returns the arguments, without the program's name, that make the snug binary the
// workload.
func Args(name string, o Options) []string {
	text, _ := json.Marshal(o) // of plain fields: it cannot fail
	return []string{"workload", name, string(text)}
}

// parse is the inverse of Args. Without options it returns the workload's own.
func parse(args []string) (entry, Options, error) {
	if len(args) == 0 || len(args) > 2 {
		return entry{}, Options{}, fmt.Errorf("which? one of: %s", strings.Join(Names(), ", "))
	}
	e, ok := find(args[0])
	if !ok {
		return entry{}, Options{}, fmt.Errorf("%q is none of: %s", args[0], strings.Join(Names(), ", "))
	}
	o := e.defaults
	o.Warm, o.Window = time.Second, 4*time.Second
	if len(args) == 2 {
		if err := json.Unmarshal([]byte(args[1]), &o); err != nil {
			return entry{}, Options{}, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return e, o, nil
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "snug workload:", err)
	return code
}
