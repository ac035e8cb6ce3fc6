// SPDX-License-Identifier: Apache-2.0

//go:build nats

// nats-server as it is, with a knob setter in front.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

func serve() {
	f := flag.NewFlagSet("nats-server", flag.ExitOnError)
	o, err := server.ConfigureOptions(f, os.Args[1:], server.PrintServerAndExit, f.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.NewServer(o)
	if err != nil {
		log.Fatal(err)
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		log.Fatal(err)
	}
	s.WaitForShutdown()
}
