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
	}
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
