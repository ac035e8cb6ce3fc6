// SPDX-License-Identifier: Apache-2.0

// Package figures reads snug's documents into types of the reader's own.
package figures

import (
	"bytes"
	"encoding/json"
)

// Unmarshal is json.Unmarshal for a document of snug. A figure that is "none" leaves a nil pointer,
// as one that is unknown does.
func Unmarshal(text []byte, v any) error {
	return json.Unmarshal(bytes.ReplaceAll(text, []byte(`:"none"`), []byte(`:null`)), v)
}
