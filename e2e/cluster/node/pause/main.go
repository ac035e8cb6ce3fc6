// SPDX-License-Identifier: Apache-2.0

// Pause is the first process of every pod's sandbox. It does nothing but keep the namespaces that
// the pod's containers share.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
