// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// Files is a certificate in files that another program renews, for example cert-manager. It
// reads changed files again.
type Files struct {
	Cert, Key string // paths; PEM

	mu    sync.Mutex
	pair  *tls.Certificate
	state [2]time.Time // modification times of the files of pair
	next  time.Time    // when to check again
}

// lookEvery is the interval at which the files are checked.
const lookEvery = 10 * time.Second

// GetCertificate implements tls.Config.GetCertificate. While the files do not match, it
// returns the previous certificate.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.pair != nil && now.Before(f.next) {
		return f.pair, nil
	}
	f.next = now.Add(lookEvery)
	err := f.read()
	if f.pair == nil {
		return nil, err
	}
	return f.pair, nil
}

func (f *Files) read() error {
	var state [2]time.Time
	for i, name := range []string{f.Cert, f.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		state[i] = info.ModTime()
	}
	if f.pair != nil && state == f.state {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return err
	}
	f.pair, f.state = &pair, state
	return nil
}

// Until returns the expiry of the certificate; the zero time = there is none.
func (f *Files) Until() time.Time {
	c, err := f.GetCertificate(nil)
	if err != nil || c.Leaf == nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}
