// SPDX-License-Identifier: Apache-2.0

// A process that makes itself hard to look at, in the way that its argument names. It prints "ready" when it is so.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ways are what it may do. dir is a directory of its own.
var ways = map[string]func(dir string){
	"fine": func(string) {},

	// Mappings.
	"sparse-memfd":     func(string) { mapFile(memfd(68<<40), 68<<40, unix.MAP_SHARED|unix.MAP_NORESERVE) },
	"sparse-memfds":    sparseMemfds,
	"sparse-files":     func(dir string) { mapAll(dir, sparseELF, 300) },
	"section-counts":   func(dir string) { mapAll(dir, sectionsELF, 300) },
	"long-paths":       func(dir string) { mapAll(long(dir), plainFile, 4000) },
	"many-mappings":    func(string) { manyMappings(unix.PROT_READ) },
	"many-executable":  func(string) { manyMappings(unix.PROT_READ | unix.PROT_EXEC) },
	"many-small-files": func(dir string) { mapAll(dir, plainFile, 20_000) },
	"truncated":        func(dir string) { mapAll(dir, plainFile, 50); truncate(dir) },
	"pipes":            func(dir string) { mapAll(dir, plainFile, 50); pipes(dir) },
	"resident":         resident,

	// The runtime's variables.
	"allgs-length":  func(string) { lie("runtime.allgs", 1, 4_194_304) },
	"allgs-twins":   func(string) { array("runtime.allgs", 4_000_000) },
	"allgs-nowhere": func(string) { elsewhere("runtime.allgs", 1<<22) },
	"allp-length":   func(string) { processors(4096) },
	"buckets-ring":  func(string) { ring(false) },
	"buckets-list":  func(string) { ring(true) },
	"counters":      counters,
	"goroutines":    func(string) { goroutines(100_000) },

	// What the kernel says of it.
	"name":         func(string) { name("\x1b[31m\r\n\"}{\x00\xff\u202e") },
	"environment":  func(dir string) { again(dir, nil, variables(900)) },
	"arguments":    func(dir string) { again(dir, strings.Fields(strings.Repeat(strings.Repeat("x", 1000)+" ", 900)), nil) },
	"threads":      threads,
	"files":        files,
	"not-dumpable": func(string) { check(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)) },

	// Its life.
	"stopped":     func(string) { go func() { time.Sleep(100 * time.Millisecond); unix.Kill(os.Getpid(), unix.SIGSTOP) }() },
	"exec":        func(dir string) { go execs(dir) },
	"forks":       func(string) { go forks() },
	"executables": func(dir string) { go executables(dir) },
	"deleted":     func(string) { exe, err := os.Executable(); check(err); check(os.Remove(exe)) },
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "list" {
		for way := range ways {
			fmt.Println(way)
		}
		return
	}
	if os.Getenv("HOSTILE_CHILD") == "exit" {
		return
	}
	if os.Getenv("HOSTILE_CHILD") == "" && len(os.Args) > 2 {
		debug.SetGCPercent(-1) // a collection would follow the lies
		signal.Ignore(syscall.SIGHUP)
		ways[os.Args[1]](os.Args[2])
	}
	fmt.Println("ready")
	if os.Getenv("HOSTILE_CHILD") == "exec" {
		execs("")
	}
	time.Sleep(24 * time.Hour)
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func memfd(size int64) int {
	fd, err := unix.MemfdCreate("sparse", 0)
	check(err)
	check(unix.Ftruncate(fd, size))
	return fd
}

// mapFile maps a file for execution.
func mapFile(fd int, size uintptr, flags int) uintptr {
	at, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_EXEC, uintptr(flags), uintptr(fd), 0)
	if errno != 0 {
		check(errno)
	}
	return at
}

func sparseMemfds(string) {
	for range 500 {
		mapFile(memfd(100<<30), 100<<30, unix.MAP_SHARED|unix.MAP_NORESERVE)
	}
}

// mapAll makes files and maps each for execution.
func mapAll(dir string, content func() ([]byte, int64), n int) {
	head, size := content()
	for i := range n {
		name := filepath.Join(dir, fmt.Sprint(i))
		check(os.WriteFile(name, head, 0o700))
		if size > 0 {
			check(os.Truncate(name, size))
		}
		fd, err := unix.Open(name, unix.O_RDONLY, 0)
		check(err)
		mapFile(fd, 4096, unix.MAP_PRIVATE)
		unix.Close(fd)
	}
}

func plainFile() ([]byte, int64) { return make([]byte, 64), 0 }

// library returns the header of an ELF library with a segment of data, and as many sections.
func library(filesz uint64, sections uint16) []byte {
	b := make([]byte, 4096)
	copy(b, "\x7fELF\x02\x01\x01")
	put := func(at int, v uint64, n int) {
		for i := range n {
			b[at+i] = byte(v >> (8 * i))
		}
	}
	put(16, 3, 2)
	put(18, 62, 2)
	put(32, 64, 8)   // e_phoff
	put(40, 4096, 8) // e_shoff
	put(52, 64, 2)
	put(54, 56, 2)
	put(56, 1, 2)
	put(58, 64, 2) // e_shentsize
	put(60, uint64(sections), 2)
	put(62, 1, 2)
	put(64, 1, 4) // PT_LOAD, readable and writable
	put(68, 6, 4)
	put(72, 4096, 8)
	put(80, 4096, 8)
	put(96, filesz, 8)
	put(104, filesz, 8)
	return b
}

func sparseELF() ([]byte, int64) { return library(1<<40, 0), 1 << 41 }

func sectionsELF() ([]byte, int64) { return library(1<<30, 65_535), 1 << 31 }

// long makes a directory whose path is as long as paths may be.
func long(dir string) string {
	for range 15 {
		dir = filepath.Join(dir, strings.Repeat("d", 240))
	}
	check(os.MkdirAll(dir, 0o700))
	return dir
}

func truncate(dir string) {
	all, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range all {
		check(os.Truncate(name, 0))
	}
}

func pipes(dir string) {
	all, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range all {
		check(os.Remove(name))
		check(unix.Mkfifo(name, 0o600))
	}
}

// manyMappings has as many mappings as a process may: every second page of a file has another permission.
func manyMappings(prot int) {
	const n = 60_000
	at := mapFile(memfd(n*4096), n*4096, unix.MAP_SHARED)
	for i := uintptr(0); i < n; i += 2 {
		if _, _, errno := unix.Syscall(unix.SYS_MPROTECT, at+i*4096, 4096, uintptr(prot|unix.PROT_WRITE)); errno != 0 {
			return // the limit of the machine
		}
	}
}

// resident has memory of files in use that is no code, beside some code.
func resident(dir string) {
	fd := memfd(256 << 20)
	b, err := unix.Mmap(fd, 0, 256<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check(err)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	mapFile(fd, 256<<20, unix.MAP_SHARED)
}

// goroutines starts goroutines that wait.
func goroutines(n int) {
	var all sync.WaitGroup
	all.Add(n)
	for range n {
		go func() { all.Done(); select {} }()
	}
	all.Wait()
}

func name(text string) {
	b := append([]byte(text), 0)
	check(unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0))
}

// again becomes the same program with other arguments and variables.
func again(dir string, args, env []string) {
	exe, err := os.Executable()
	check(err)
	check(syscall.Exec(exe, append([]string{exe, "fine", dir}, args...), append(env, "HOSTILE_CHILD=1")))
}

func variables(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("GOVARIABLE_%d=%s", i, strings.Repeat("\x1b[2J", 250)))
	}
	return all
}

func threads(string) {
	const n = 10_000
	debug.SetMaxThreads(2 * n)
	var up sync.WaitGroup
	for range n {
		up.Add(1)
		go func() {
			runtime.LockOSThread()
			up.Done()
			unix.Pause()
		}()
	}
	up.Wait()
}

func files(string) {
	const spare = 100
	unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 60_000, Max: 60_000})
	last := 0
	for range 50_000 {
		if fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err == nil {
			last = fd
		}
	}
	for fd := last - spare; fd <= last; fd++ { // the runtime needs some
		unix.Close(fd)
	}
}

// execs becomes the same program again and again.
func execs(dir string) {
	time.Sleep(2 * time.Millisecond)
	exe, err := os.Executable()
	check(err)
	check(syscall.Exec(exe, []string{exe, "fine", dir}, []string{"HOSTILE_CHILD=exec"}))
}

// forks starts programs that end at once.
func forks() {
	exe, err := os.Executable()
	check(err)
	for {
		cmd := exec.Command(exe)
		cmd.Env = []string{"HOSTILE_CHILD=exit"}
		cmd.Run()
	}
}

// executables starts copies of itself, each in a file of its own, and keeps some of them.
func executables(dir string) {
	exe, err := os.Executable()
	check(err)
	text, err := os.ReadFile(exe)
	check(err)
	var kept []*exec.Cmd
	for i := 0; ; i++ {
		name := filepath.Join(dir, fmt.Sprint(i%40))
		os.Remove(name)
		check(os.WriteFile(name, text, 0o700))
		cmd := exec.Command(name, "fine", dir)
		cmd.Env = []string{"HOSTILE_CHILD=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if cmd.Start() != nil {
			continue
		}
		if kept = append(kept, cmd); len(kept) > 20 {
			kept[0].Process.Kill()
			kept[0].Wait()
			kept = kept[1:]
		}
		time.Sleep(20 * time.Millisecond)
	}
}
