// SPDX-License-Identifier: Apache-2.0

// Hello does nothing: it measures the cost of starting and ending a process. Build tags add an
// import: snug, automaxprocs, automemlimit.
package main

func main() {}
