// SPDX-License-Identifier: Apache-2.0

package goenv

import (
	"os"
	"runtime/debug"
)

type envVar struct{ Name, Value string }

func late() {
	os.Setenv("GOMEMLIMIT", "512MiB") // want `sets GOMEMLIMIT too late.*\(setenv-too-late\)`
	os.Setenv("GOGC", "200")          // want `setenv-too-late`
	os.Setenv("GODEBUG", "gctrace=1")
	os.Setenv("HOME", "512Mi")
}

var manifest = []envVar{
	{Name: "GOMEMLIMIT", Value: "512Mi"}, // want `GOMEMLIMIT=512Mi ends every Go program.*write GOMEMLIMIT=512MiB \(gomemlimit-malformed\)`
	{Name: "GOMEMLIMIT", Value: "512MiB"},
	{Name: "GOGC", Value: "200%"},       // want `gogc-malformed`
	{Name: "GOMAXPROCS", Value: "500m"}, // want `GOMAXPROCS=1 \(gomaxprocs-malformed\)`
	{Name: "OTHER", Value: "500m"},
}

var environment = map[string]string{
	"GOMEMLIMIT": "1g", // want `gomemlimit-malformed`
	"GOGC":       "off",
}

var list = []string{
	"GOMEMLIMIT=1.5GiB",        // want `gomemlimit-malformed`
	"GOGC=0",                   // want `gogc-zero`
	"GODEBUG=sbrk=1",           // want `godebug-harmful`
	"GODEBUG=updatemaxprocs=0", // want `godebug-no-quota`
	"GOMEMLIMIT=%d",
	"GOMEMLIMIT=<size> is a variable",
}

func limits(n int64) {
	debug.SetMemoryLimit(0)   // want `gomemlimit-tiny`
	debug.SetMemoryLimit(512) // want `gomemlimit-tiny`
	debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(n << 20)
}
