// SPDX-License-Identifier: Apache-2.0

// Lxcfs runs a command with a /proc/meminfo of its own: a FUSE file system of the type fuse.lxcfs, as
// lxcfs mounts for containers of Proxmox VE, LXD and Incus. It needs a mount namespace of its own.
//
//	lxcfs MEMINFO COMMAND...
//
// Its exit code is that of the command, or 137 if a signal ended it.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

const (
	module = "/lib/fuse.ko" // loaded if the kernel has no FUSE yet
	point  = "/run/lxcfs"
	name   = "/proc/meminfo" // in the file system, and where it is bound
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "lxcfs: want MEMINFO COMMAND...")
		os.Exit(2)
	}
	if err := run([]byte(os.Args[1]), os.Args[2:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "lxcfs:", err)
		os.Exit(137)
	}
}

func run(meminfo []byte, command []string) error {
	if err := load(); err != nil {
		return err
	}
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/fuse: %w", err)
	}
	if err := os.MkdirAll(point, 0o755); err != nil {
		return err
	}
	// fs/fuse/inode.c reads the options; the root is a directory.
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := syscall.Mount("lxcfs", point, "fuse.lxcfs", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount fuse.lxcfs: %w", err)
	}
	go serve(fd, meminfo)
	if err := syscall.Mount(point+name, name, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", name, err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// load loads the kernel's module if FUSE is not there yet (finit_module(2)).
func load() error {
	if known, err := os.ReadFile("/proc/filesystems"); err != nil || bytes.Contains(known, []byte("\tfuse\n")) {
		return err
	}
	f, err := os.Open(module)
	if err != nil {
		return err
	}
	defer f.Close()
	var none byte
	if _, _, errno := syscall.Syscall(sysFinitModule, f.Fd(), uintptr(unsafe.Pointer(&none)), 0); errno != 0 && errno != syscall.EEXIST {
		return fmt.Errorf("load %s: %w", module, errno)
	}
	return nil
}

// sysFinitModule is the number on amd64.
const sysFinitModule = 313

// Nodes of the file system: /, /proc and /proc/meminfo.
const (
	rootNode = 1 + iota
	procNode
	fileNode
)

// Requests (Linux, include/uapi/linux/fuse.h).
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opOpen        = 14
	opRead        = 15
	opRelease     = 18
	opFlush       = 25
	opInit        = 26
	opInterrupt   = 36
	opBatchForget = 42
)

var order = binary.NativeEndian

// serve answers requests until the file system is unmounted. A request is a header of 40 bytes (length, request,
// number, node, ...) with its arguments; an answer one of 16 (length, negative errno, number) with its
// result.
func serve(fd int, meminfo []byte) {
	buf := make([]byte, 1<<20)
	for {
		n, err := syscall.Read(fd, buf)
		switch {
		case err == syscall.EINTR, err == syscall.ENOENT, err == syscall.EAGAIN:
			continue
		case err != nil || n < 40:
			return
		}
		op, number, node := order.Uint32(buf[4:]), order.Uint64(buf[8:]), order.Uint64(buf[16:])
		var result []byte
		errno := syscall.Errno(0)
		switch op {
		case opForget, opBatchForget, opInterrupt:
			continue // they have no answer
		case opInit: // struct fuse_init_out: version 7.31
			result = make([]byte, 64)
			order.PutUint32(result, 7)
			order.PutUint32(result[4:], 31)
			order.PutUint32(result[20:], 4096) // max_write
		case opLookup: // struct fuse_entry_out
			child := uint64(0)
			switch text, _, _ := bytes.Cut(buf[40:n], []byte{0}); {
			case node == rootNode && string(text) == "proc":
				child = procNode
			case node == procNode && string(text) == "meminfo":
				child = fileNode
			}
			if child == 0 {
				errno = syscall.ENOENT
				break
			}
			result = append(make([]byte, 40), attributes(child)...)
			order.PutUint64(result, child)
		case opGetattr: // struct fuse_attr_out
			result = append(make([]byte, 16), attributes(node)...)
		case opOpen: // struct fuse_open_out
			result = make([]byte, 16)
			order.PutUint32(result[8:], 1) // FOPEN_DIRECT_IO: its size is 0, as in proc
		case opRead: // struct fuse_read_in has the offset after the file handle, then the size
			from := min(order.Uint64(buf[48:]), uint64(len(meminfo)))
			result = meminfo[from:min(from+uint64(order.Uint32(buf[56:])), uint64(len(meminfo)))]
		case opRelease, opFlush:
		default:
			errno = syscall.ENOSYS
		}
		answer := make([]byte, 16, 16+len(result))
		order.PutUint32(answer, uint32(16+len(result)))
		order.PutUint32(answer[4:], uint32(-int32(errno)))
		order.PutUint64(answer[8:], number)
		syscall.Write(fd, append(answer, result...))
	}
}

// attributes returns a struct fuse_attr.
func attributes(node uint64) []byte {
	a := make([]byte, 88)
	mode := uint32(syscall.S_IFDIR | 0o755)
	if node == fileNode {
		mode = syscall.S_IFREG | 0o444
	}
	order.PutUint64(a, node)
	order.PutUint32(a[60:], mode)
	order.PutUint32(a[64:], 1) // links
	return a
}
