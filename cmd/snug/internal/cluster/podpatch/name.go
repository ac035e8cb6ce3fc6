// SPDX-License-Identifier: Apache-2.0

package podpatch

import "regexp"

// IsName reports whether a text is a DNS label, like the names of namespaces and containers.
func IsName(text string) bool { return len(text) <= 63 && nameText.MatchString(text) }

// nameText has no length bound, because compiling one would add a millisecond to every command
// of the tool.
var nameText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
