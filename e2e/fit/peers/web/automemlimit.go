// SPDX-License-Identifier: Apache-2.0

//go:build automemlimit

package main

import _ "github.com/KimMachineGun/automemlimit"
