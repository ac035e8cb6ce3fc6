// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func change(ratio float64) string { return units.About(math.Abs(ratio - 1)) }
