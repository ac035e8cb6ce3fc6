// SPDX-License-Identifier: Apache-2.0

// Package engine runs a command of snug in one container of docker or podman, for a
// machine that has no cgroups of its own, such as a Mac.
package engine

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// Names are the engines.
var Names = []string{"docker", "podman"}

// Image is the image of the container if none is named: a root with empty directories,
// which snug gives to the engine itself. snug and the program come from this machine.
const Image = "snug-empty:1"

// inside is where the container has snug.
const inside = "/snug-in-container"

// Spec is a command to run.
type Spec struct {
	Engine string   // docker or podman
	Image  string   // "" = Image
	Snug   string   // snug for Linux; "" = found beside this one, or on Linux this one
	Args   []string // of snug, without its own name
	// Program is the file to measure, as the container's snug finds it; "" = none.
	Program string
	// Dir is the directory in which snug runs; "" = the current one.
	Dir string
	// Files are files that snug writes or reads. Their directories are in the container
	// under the same names, as the current directory is.
	Files []string
	Env   []string // names of variables to pass on
	More  []string // arguments for the engine's run command
	// RealTime: the load generator needs real-time priority.
	RealTime bool

	Out, Err io.Writer
	Note     func(format string, args ...any)
}

// Run runs the command and returns its exit code. An error means that it did not start.
// It leaves no container.
func Run(ctx context.Context, s *Spec) (int, error) {
	client, arch, err := find(ctx, s.Engine)
	if err != nil {
		return 0, err
	}
	if s.Snug, err = linuxSnug(s.Snug, arch); err != nil {
		return 0, err
	}
	if s.Program != "" {
		if err := runnable(s.Program, arch); err != nil {
			return 0, err
		}
	}
	image := s.Image
	if image == "" {
		image = Image
		if err := makeImage(ctx, client, s); err != nil {
			return 0, err
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, message.Failed("no current directory: "+message.Reason(err), "start snug in another one")
	}
	name := fmt.Sprintf("snug-%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	return attached(client, name, s, slices.Concat(arguments(s, name, dir), []string{image, inside}, s.Args))
}

// Arch returns the architecture of an engine's machine, which may be a virtual one.
func Arch(ctx context.Context, engine string) (string, error) {
	_, arch, err := find(ctx, engine)
	return arch, err
}

// find returns the client of an engine, and the architecture of its machine.
func find(ctx context.Context, engine string) (client, arch string, err error) {
	if runtime.GOOS == "windows" {
		// A container has no C:\, and the command line may name any file there.
		return "", "", message.Failed("--in "+engine+": file names of Windows do not exist in a container",
			"start snug for Linux in WSL, with the same flags")
	}
	if client, err = exec.LookPath(engine); err != nil {
		return "", "", message.Failed("--in "+engine+": no "+engine+" in PATH",
			"install it, or name the other: --in docker or --in podman")
	}
	arch, err = platform(ctx, client, engine)
	return client, arch, err
}

// arguments returns the engine's command line up to the image. snug makes cgroups beside
// the container's own: this takes the machine's cgroup namespace and a writable cgroup file
// system, and no capability or --privileged.
func arguments(s *Spec, name, dir string) []string {
	args := []string{"run", "--rm", "--name", name, "--pull=never", "--cgroupns=host", "--volume",
		"/sys/fs/cgroup:/sys/fs/cgroup:rw"}
	if s.Engine == "podman" {
		// SELinux would need labels on the user's files.
		args = append(args, "--security-opt", "label=disable")
	}
	if s.RealTime {
		args = append(args, "--cap-add", "SYS_NICE")
	}
	args = append(args, "--volume", s.Snug+":"+inside+":ro", "--workdir", cmp.Or(s.Dir, dir))
	for _, m := range mounts(s, dir) {
		args = append(args, "--volume", m)
	}
	for _, v := range s.Env {
		args = append(args, "--env", v)
	}
	return append(args, s.More...)
}

// mounts returns the directories of this machine that the container has: the current one
// and those of the files, writable, and that of the program.
func mounts(s *Spec, dir string) []string {
	all := []string{dir + ":" + dir}
	have := []string{dir}
	add := func(file, mode string) {
		of := filepath.Dir(file)
		for _, h := range have {
			if of == h || strings.HasPrefix(of, strings.TrimSuffix(h, "/")+"/") {
				return
			}
		}
		have, all = append(have, of), append(all, of+":"+of+mode)
	}
	if s.Dir != "" {
		add(filepath.Join(s.Dir, "file"), "")
	}
	for _, f := range s.Files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(dir, f)
		}
		add(f, "")
	}
	if s.Program != "" {
		add(s.Program, ":ro")
	}
	return all
}

// attached runs the engine and passes signals on to it, which passes them on to snug. The
// engine's client has a process group of its own, so that a Ctrl-C reaches it once.
func attached(client, name string, s *Spec, args []string) (int, error) {
	cmd := exec.Command(client, args...)
	cmd.Stdout, cmd.Stderr = s.Out, s.Err
	apart(cmd)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, message.Failed("cannot run "+client+": "+message.Reason(err), "check the installation of "+s.Engine)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	interrupted := false
	for {
		select {
		case sig := <-signals:
			interrupted = true
			cmd.Process.Signal(sig)
			continue
		case err := <-done:
			code := cmd.ProcessState.ExitCode()
			// The client was killed, or it is its own code: snug has none from 125 to 127.
			failed := code < 0 || code >= 125 && code <= 127
			if failed {
				remove(client, name)
			}
			switch exit, ok := errors.AsType[*exec.ExitError](err); {
			case err != nil && !ok:
				return 0, message.Failed("cannot run "+client+": "+message.Reason(err), "check the installation of "+s.Engine)
			case interrupted && failed:
				return message.ExitInterrupted, nil
			case code < 0:
				return 0, message.Failed(s.Engine+" ended: "+exit.String(), "its container is removed; start again")
			case failed:
				return 0, message.Failed(s.Engine+" could not start the container",
					"its message is above; with --image the image must be here already: "+s.Engine+" pull IMAGE")
			}
			return code, nil
		}
	}
}

// remove removes what may be left of a container.
func remove(client, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	exec.CommandContext(ctx, client, "rm", "-f", name).Run()
}

// platform asks an engine for its machine's architecture.
func platform(ctx context.Context, client, engine string) (string, error) {
	query := []string{"version", "--format", "{{.Server.Os}}/{{.Server.Arch}}"}
	if engine == "podman" {
		query = []string{"info", "--format", "{{.Host.OS}}/{{.Host.Arch}}"}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, client, query...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	system, arch, _ := strings.Cut(strings.TrimSpace(string(out)), "/")
	switch {
	case err != nil:
		return "", message.Failed(engine+" does not answer: "+lastLine(said.String()),
			"start it first: "+engine+" version must work")
	case system != "linux":
		return "", message.Failed(engine+" runs containers of "+system,
			"snug measures in Linux containers: switch it to these")
	}
	return arch, nil
}

// makeImage gives the engine the empty image, if it has none.
func makeImage(ctx context.Context, client string, s *Spec) error {
	if exec.CommandContext(ctx, client, "image", "inspect", Image).Run() == nil {
		return nil
	}
	var b, said bytes.Buffer
	w := tar.NewWriter(&b)
	for _, d := range []string{"dev", "etc", "proc", "run", "sys", "tmp"} {
		mode := int64(0o755)
		if d == "tmp" {
			mode = 0o1777
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: mode}); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, client, "import", "-", Image)
	cmd.Stdin, cmd.Stderr = &b, &said
	if err := cmd.Run(); err != nil {
		return message.Failed(s.Engine+" could not import an empty image: "+lastLine(said.String()),
			"name one that is here: --image IMAGE")
	}
	s.Note("note: made the empty image %s; %s rmi %s removes it", Image, s.Engine, Image)
	return nil
}

// linuxSnug returns the absolute name of snug for the engine's machine.
func linuxSnug(given, arch string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", message.Failed("cannot find snug's own program: "+message.Reason(err), "run it by its full path")
	}
	file := given
	if file == "" {
		file = self
		if runtime.GOOS != "linux" || runtime.GOARCH != arch {
			file = filepath.Join(filepath.Dir(self), "snug-linux-"+arch)
		}
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err != nil && given == "" {
		return "", message.Failed(file+": no snug for the container", "put snug for Linux there, or name it: GOOS=linux "+
			"GOARCH="+arch+" CGO_ENABLED=0 go build -o snug-linux-"+arch+" ./cmd/snug; --snug-linux FILE")
	}
	if err := runnable(file, arch); err != nil {
		return "", err
	}
	return file, nil
}

// machines are the architectures of ELF files.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// runnable rejects a file that a container on that architecture cannot run.
func runnable(file, arch string) error {
	build := "build it for the container: GOOS=linux GOARCH=" + arch + " CGO_ENABLED=0 go build"
	f, err := elf.Open(file)
	if _, bad := errors.AsType[*elf.FormatError](err); bad || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		return message.Failed(file+": not a Linux program", build)
	} else if err != nil {
		return message.Failed("cannot read "+file+": "+message.Reason(err),
			"check the name; the program must be a file here")
	}
	defer f.Close()
	if of := machines[f.Machine]; of != arch {
		if of == "" {
			of = f.Machine.String()
		}
		return message.Failed(file+": a program for "+of+", and the container's machine is "+arch, build)
	}
	return nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
