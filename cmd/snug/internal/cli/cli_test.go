// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// closedPipe is a pipe whose reader has closed it.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestClosedPipeIsQuiet(t *testing.T) {
	var talk bytes.Buffer
	if code := Main([]string{"explain"}, strings.NewReader(""), closedPipe{}, &talk); code != message.ExitFine || talk.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, talk.String())
	}
}

// spoken runs a command line as it is.
func spoken(args []string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = Main(append([]string{}, args...), strings.NewReader(""), &stdout, &stderr) // cobra reads os.Args if they are nil
	return code, stdout.String(), stderr.String()
}
