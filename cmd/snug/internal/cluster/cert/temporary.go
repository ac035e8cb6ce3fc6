// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"crypto/tls"
	"sync"
	"time"
)

// temporaryLife is the life of a temporary certificate. At half of it there is a new one.
const temporaryLife = 90 * 24 * time.Hour

// Temporary returns a [tls.Config.GetCertificate] whose certificate no client can verify: for addresses
// where only reading along is to be prevented.
func Temporary(names ...string) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	var mu sync.Mutex
	var g *generation
	var made time.Time
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if g == nil || now.Sub(made) > temporaryLife/2 {
			next, err := generate(names, now, temporaryLife)
			if err != nil && g == nil {
				return nil, err
			}
			if err == nil {
				g, made = next, now
			}
		}
		return &g.leaf, nil
	}
}
