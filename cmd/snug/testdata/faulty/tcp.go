// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// echoes serves a protocol of lines: it keeps as many bytes as "put BYTES" says, and answers
// every line.
func echoes(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fail(err.Error())
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fail(err.Error())
		}
		go func() {
			defer c.Close()
			for in := bufio.NewScanner(c); in.Scan(); {
				if size, ok := strings.CutPrefix(in.Text(), "put "); ok {
					n, _ := strconv.Atoi(size)
					touch(n)
				}
				fmt.Fprintln(c, "fine")
			}
		}()
	}
}

// commands are those beside the server, for --load-cmd and --prepare.
var commands = map[string]func(address, log string){
	"loads": func(address, log string) { loads(address, log, "get") },
	"bursts": func(address, log string) {
		loads(address, log, "put 1048576")
	},
	"fills": func(address, log string) {
		note(log, "fills")
		ask(dial(address), "put "+arg(4))
	},
	"eats-beside": func(_, log string) { // 32 MiB, which are not the server's
		note(log, "fills")
		touch(32 << 20)
	},
	"stays": func(_, log string) { // and its child leaves the session
		note(log, "stays")
		cmd := exec.Command("/proc/self/exe", "sleeps")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fail(err.Error())
		}
		time.Sleep(time.Hour)
	},
}

// loads sends one line after the other for SNUG_SECONDS, and reports what came of it.
func loads(address, log, line string) {
	note(log, os.Getenv("SNUG_PHASE")+" "+os.Getenv("SNUG_SECONDS")+" users="+os.Getenv("SNUG_USERS")+" rate="+os.Getenv("SNUG_RATE")+" "+os.Getenv("SNUG_URL"))
	span, err := time.ParseDuration(os.Getenv("SNUG_SECONDS") + "s")
	if err != nil {
		fail(err.Error())
	}
	c := dial(address)
	var n int
	var most time.Duration
	start := time.Now()
	for time.Since(start) < span {
		began := time.Now()
		ask(c, line)
		most = max(most, time.Since(began))
		n++
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"operations": n, "seconds": time.Since(start).Seconds(), "max_seconds": most.Seconds(), "p99_seconds": most.Seconds(),
		"answers": n, "tool": "faulty", "open": os.Getenv("OPEN") != "",
	})
}

type conn struct {
	net.Conn
	in *bufio.Reader
}

func dial(address string) conn {
	c, err := net.Dial("tcp", address)
	if err != nil {
		fail(err.Error())
	}
	return conn{c, bufio.NewReader(c)}
}

func ask(c conn, line string) {
	fmt.Fprintln(c, line)
	if _, err := c.in.ReadString('\n'); err != nil {
		fail("no answer: " + err.Error())
	}
}
