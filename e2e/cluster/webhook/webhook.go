// SPDX-License-Identifier: Apache-2.0

// Package webhook puts `snug webhook` beside a real API server, and looks at what becomes
// of pods while it is killed, restarted and renews its certificate.
package webhook
