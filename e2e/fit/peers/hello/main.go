// SPDX-License-Identifier: Apache-2.0

// Hello does nothing: what a process costs that starts and ends. Build tags
// add an import: snug, automaxprocs, automemlimit.
package main

func main() {}
