// SPDX-License-Identifier: Apache-2.0

package podpatch

import "regexp"

// IsName tells whether a text is a DNS label: what names of namespaces and containers are.
func IsName(text string) bool { return len(text) <= 63 && nameText.MatchString(text) }

// nameText does not say how long: a bound in it takes a millisecond to compile before every
// command of the tool.
var nameText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
