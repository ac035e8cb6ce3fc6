// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package limits_test

import (
	"errors"
	"testing"

	"github.com/snug-go/snug/limits"
)

var errESRCH = errors.New("no such process")

func TestNeedsLinux(t *testing.T) {
	if _, err := limits.Self(); !errors.Is(err, limits.ErrNotSupported) {
		t.Errorf("error %v, want ErrNotSupported", err)
	}
}
