// SPDX-License-Identifier: Apache-2.0

//go:build automaxprocs

package main

import _ "go.uber.org/automaxprocs"
