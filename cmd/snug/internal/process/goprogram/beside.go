// SPDX-License-Identifier: Apache-2.0

//go:build unix

package goprogram

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// loader is a C program that loads a library when it reads a line.
const loader = `#include <dlfcn.h>
#include <stdio.h>

int main(int n, char **arg) {
	puts("ready");
	fflush(stdout);
	getchar();
	puts(dlopen(arg[1], RTLD_NOW) ? "loaded" : dlerror());
	fflush(stdout);
	getchar();
	getchar();
}
`

// Beside runs a C program until the test ends. load makes it load lib, which has the section by which
// a library of gccgo is known.
func Beside(t *testing.T) (pid int, lib string, load func()) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	program, lib := filepath.Join(dir, "loader"), filepath.Join(dir, "libgo.so")
	for name, text := range map[string]string{"loader.c": loader,
		"lib.c": "__attribute__((section(\".go_export\"))) int nothing = 1;\nint twice(int n) { return 2 * n; }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-o", program, "loader.c", "-ldl"}, {"-shared", "-fPIC", "-o", lib, "lib.c"}} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(program, lib)
	in, says := begun(t, cmd)
	says("ready")
	return cmd.Process.Pid, lib, func() {
		t.Helper()
		fmt.Fprintln(in)
		says("loaded")
	}
}
