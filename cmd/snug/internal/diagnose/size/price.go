// SPDX-License-Identifier: Apache-2.0

package size

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// ParsePrice reads a --price, "0.04,0.004": what a core and a GiB cost. "" is Fargate's.
func ParsePrice(text string) (Price, error) {
	if text == "" {
		return Fargate, nil
	}
	core, gib, _ := strings.Cut(text, ",")
	c, err1 := strconv.ParseFloat(core, 64)
	g, err2 := strconv.ParseFloat(gib, 64)
	if err1 != nil || err2 != nil || !(c >= 1e-9 && c < 1e9 && g >= 1e-9 && g < 1e9) {
		return Price{}, message.Usage("--price "+message.Typed(text)+": wrong value",
			"write two numbers above 0, such as 0.04,0.004")
	}
	return Price{Core: c, GiB: g}, nil
}

// From returns where the price comes from, for people.
func (p Price) From() string {
	if p == Fargate {
		return "AWS Fargate, Linux on x86, us-east-1, dollars an hour"
	}
	return "--price"
}
