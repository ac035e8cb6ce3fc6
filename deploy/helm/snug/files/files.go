// SPDX-License-Identifier: Apache-2.0

// Package files holds the chart's templates that `snug cluster policy` and `snug cluster webhook --register`
// render too: a chart can read no file but its own, and Go embeds no file of another folder. It is
// for the tool alone and may change at any time.
package files

import "embed"

// Templates are the texts below policy and webhook, in the syntax of text/template.
//
//go:embed policy/*.tmpl webhook/*.tmpl
var Templates embed.FS
