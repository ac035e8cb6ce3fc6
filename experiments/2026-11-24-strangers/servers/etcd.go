// SPDX-License-Identifier: Apache-2.0

//go:build etcd

// etcd as it is, with a knob setter in front.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func serve() { etcdmain.Main(os.Args) }
