// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// role is the environment variable that makes the test binary something else.
const role = "SNUG_LOAD_TEST_ROLE"

func TestMain(m *testing.M) {
	ChildMain()
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "server":
		serverRole()
	case "parent":
		parentRole()
	case "commander":
		commanderRole()
	}
}

// commanderRole runs a command that does not end.
func commanderRole() {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	Command{Shell: leaves + "sleep 1000", Env: os.Environ()}.Run(context.Background(), exe)
}

// serverRole runs a service that prints its URL and ends when stdin does.
func serverRole() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/\n", l.Addr())
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// parentRole starts a generator, prints its process and waits until the test ends it.
func parentRole() {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p := Plan{URLs: []string{os.Args[1]}, Kind: Open, Rate: 100, Warm: time.Minute, Window: time.Minute}
	g, err := Start(context.Background(), exe, p)
	if err != nil {
		panic(err)
	}
	fmt.Println(g.cmd.Process.Pid)
	select {}
}

// leaves starts processes that do not end with the command: in its group, in a session of
// their own, deaf to SIGTERM. It writes their numbers to the file $WHERE.
const leaves = `
	sleep 1000 & echo $! >> "$WHERE"
	setsid sh -c 'trap "" TERM; echo $$ >> "$0"; sleep 1000' "$WHERE" &
	until [ "$(wc -l < "$WHERE")" = 2 ]; do sleep 0.01; done
`
