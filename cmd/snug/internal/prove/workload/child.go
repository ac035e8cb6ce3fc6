// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// ChildMain makes this process a workload if its first argument is "workload", and then
// does not return. Call it first in snug's main function, and in TestMain of a package
// that starts workloads.
func ChildMain() {
	if len(os.Args) < 2 || os.Args[1] != "workload" {
		return
	}
	os.Exit(childMain(os.Args[2:]))
}

func childMain(args []string) int {
	if len(args) == 0 {
		return fail(2, errors.New("which? one of: "+list()))
	}
	e, ok := find(args[0])
	if !ok {
		return fail(2, fmt.Errorf("%q is none of: %s", args[0], list()))
	}
	o, err := e.parse(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		names, _ := e.all()
		fmt.Printf("%s: %s\n", e.name, e.what)
		for _, n := range names {
			fmt.Println("  --" + n)
		}
		return 0
	}
	if err != nil {
		return fail(2, fmt.Errorf("%s: %w", e.name, err))
	}
	if e.kind == service {
		err = serve(e.name, o)
	} else {
		err = drive(e.name, e.make(o), o)
	}
	if err != nil {
		return fail(1, err)
	}
	return 0
}

func list() string {
	text := ""
	for i, n := range Names() {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "snug workload:", err)
	return code
}
