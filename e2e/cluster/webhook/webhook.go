// SPDX-License-Identifier: Apache-2.0

// Package webhook runs `snug webhook` with a real API server, and checks the pods while the webhook
// is killed, restarted and renews its certificate.
package webhook
