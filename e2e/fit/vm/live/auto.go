// SPDX-License-Identifier: Apache-2.0

//go:build auto

package main

import _ "github.com/snug-go/snug/auto"
