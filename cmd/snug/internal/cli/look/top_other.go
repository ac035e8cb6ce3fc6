// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package look

import (
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// topLive needs Linux.
func topLive(u *ui.UI, _ *topOptions) error {
	return message.Failed("snug top needs Linux", "run it where the processes are")
}
