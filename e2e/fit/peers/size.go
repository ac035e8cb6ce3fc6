// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// variants lists the build tags of the compared programs; the first is the baseline.
var variants = []string{"", "snug", "automaxprocs", "automemlimit", "automaxprocs,automemlimit"}

func label(tags string) string {
	switch tags {
	case "":
		return "base"
	case "automaxprocs,automemlimit":
		return "both-peers"
	}
	return tags
}

// build builds hello or web with the given tags.
func build(to, program, tags string, flags ...string) error {
	args := append([]string{"build", "-trimpath=false", "-buildvcs=false", "-o", to, "-tags=" + tags}, flags...)
	cmd := exec.Command("go", append(args, "github.com/snug-go/snug/e2e/fit/peers/"+program)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// size prints the bytes of every variant, and the difference from the baseline.
func size([]string) error {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("program,build,variant,bytes,added")
	for _, program := range []string{"hello", "web"} {
		for _, stripped := range []bool{false, true} {
			var flags []string
			how := "default"
			if stripped {
				flags, how = []string{"-ldflags=-s -w"}, "stripped"
			}
			var base int64
			for _, tags := range variants {
				to := filepath.Join(dir, program)
				if err := build(to, program, tags, flags...); err != nil {
					return err
				}
				info, err := os.Stat(to)
				if err != nil {
					return err
				}
				if tags == "" {
					base = info.Size()
				}
				fmt.Printf("%s,%s,%s,%d,%d\n", program, how, label(tags), info.Size(), info.Size()-base)
			}
		}
	}
	return nil
}
