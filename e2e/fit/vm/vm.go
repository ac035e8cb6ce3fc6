// SPDX-License-Identifier: Apache-2.0

// Package vm runs programs in a Linux virtual machine with any number of CPUs and any amount of
// memory: cgroup v2 on hosts with v1, another kernel, 24 CPUs, another architecture. It boots
// Debian's cloud kernel under QEMU's software emulation, which needs no hardware support. Do not
// measure time in it: an active virtual CPU gets a share of a real one.
//
// A boot takes seconds (about 6 with 4 CPUs, 25 with 24) and a step 0.1 s, so tests that want the
// same machine share one boot.
package vm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/snug-go/snug/e2e/fit/vm/wire"
)

// Step is a program that runs in groups of its own; see wire.Step.
type Step = wire.Step

// Result is the result of a Step; see wire.Result.
type Result = wire.Result

// Kind is a kind of machine. Tests with the same Kind share a boot.
type Kind struct {
	Arch      string         // GOARCH: "amd64" (default), "arm64" or "386"
	CPUs      int            // virtual CPUs; 0 = 1
	Hierarchy wire.Hierarchy // "" = V2
}

// Spec is a machine and its steps.
type Spec struct {
	Kind
	// Files maps guest paths to files or directories of the host. In the guest all files are
	// executable and belong to root.
	Files map[string]string
	Steps []Step
	// Timeout of the whole boot. 0 is five minutes, plus 10 s per CPU, plus 10 s or its own Seconds
	// per step: several times the duration on a busy host.
	Timeout time.Duration
}

// Boot boots a machine and returns one result per step, in the same order, and the guest's console
// output, even with an error. It keeps its files in dir. The machine ends when ctx does, and does
// not outlive this process.
func Boot(ctx context.Context, dir string, spec Spec) (results []Result, console string, err error) {
	spec.Kind = spec.withDefaults()
	if spec.Timeout == 0 {
		spec.Timeout = 5*time.Minute + time.Duration(spec.CPUs)*10*time.Second
		for _, s := range spec.Steps {
			spec.Timeout += time.Duration(max(s.Seconds, 10)) * time.Second
		}
	}
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	machine, err := machineOf(spec.Arch)
	if err != nil {
		return nil, "", err
	}
	image, err := kernel(ctx, machine.kernel, machine.debianName(spec.Arch))
	if err != nil {
		return nil, "", err
	}
	root, err := writeInitrd(ctx, dir, spec, machine.port)
	if err != nil {
		return nil, "", err
	}
	answers := filepath.Join(dir, "results")
	console, err = emulate(ctx, machine.command(spec, image, root, answers), patience)
	if ctx.Err() != nil {
		err = fmt.Errorf("not done after %v: %w", spec.Timeout, ctx.Err())
	}
	text, readErr := os.ReadFile(answers)
	results, parseErr := parse(text)
	if err := errors.Join(err, readErr, parseErr); err != nil {
		return results, console, err
	}
	return results, console, complete(spec, results, console)
}

// patience is how long the first boots may take until the guest's first line; the last boot has no
// such limit. A boot takes seconds, but now and then the emulated kernel of a machine with several
// CPUs hangs before its first process, with all of them busy.
var patience = []time.Duration{2 * time.Minute, 4 * time.Minute}

// emulate runs the emulator until a guest has started, and returns its console. Nothing is lost by
// another boot: the guest has not begun its job.
func emulate(ctx context.Context, command []string, patience []time.Duration) (console string, err error) {
	for _, limit := range patience {
		console, err = qemu(ctx, command, limit)
		if !errors.Is(err, errSilent) {
			return console, err
		}
		fmt.Fprintf(os.Stderr, "vm: the guest did not start within %v, booting again\n", limit)
	}
	return qemu(ctx, command, 0)
}

func (k Kind) withDefaults() Kind {
	return Kind{cmp.Or(k.Arch, "amd64"), cmp.Or(k.CPUs, 1), cmp.Or(k.Hierarchy, wire.V2)}
}

// writeInitrd builds the guest's first process and packs it with the job and the payload. The guest
// writes its results to port.
func writeInitrd(ctx context.Context, dir string, spec Spec, port string) (string, error) {
	guest := filepath.Join(dir, "guest")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", guest, "github.com/snug-go/snug/e2e/fit/vm/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+spec.Arch)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the guest: %w: %s", err, out)
	}
	job, err := json.Marshal(wire.Job{Hierarchy: spec.Hierarchy, Results: port, Steps: spec.Steps})
	if err != nil {
		return "", err
	}
	// Not compressed: QEMU copies the image into the guest's memory at full speed, but an emulated
	// CPU would have to unpack it.
	var image bytes.Buffer
	if err := initrd(&image, guest, job, wire.JobFile, spec.Files); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "initrd")
	return name, os.WriteFile(name, image.Bytes(), 0o644)
}

func parse(text []byte) ([]Result, error) {
	var results []Result
	for line := range bytes.Lines(text) {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return results, fmt.Errorf("result %d: %w: %q", len(results), err, line)
		}
		results = append(results, r)
	}
	return results, nil
}

// complete checks that the guest finished and reported every step.
func complete(spec Spec, results []Result, console string) error {
	_, code, ok := strings.Cut(console, wire.LastLine)
	if !ok {
		return errors.New("the console has no last line: the guest crashed or was killed")
	}
	// After the last line, only the kernel writes, about powering down.
	if code, _, _ = strings.Cut(code, "\n"); code != "0" {
		return fmt.Errorf("the guest failed with exit code %s", code)
	}
	if len(results) != len(spec.Steps) {
		return fmt.Errorf("%d results for %d steps", len(results), len(spec.Steps))
	}
	for i, r := range results {
		if r.Name != spec.Steps[i].Name {
			return fmt.Errorf("result %d belongs to step %s, want %s", i, r.Name, spec.Steps[i].Name)
		}
	}
	return nil
}
