// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

func TestSentences(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{content.Whole(58.4), "58 s"},
		{content.Whole(872), "15 min"},
		{content.Whole(8 * 3600), "8.0 h"},
		{content.Whole(math.Inf(1)), "-"},
		{page.Typeset("-3.5 % [-4.1, -2.9] worse"), "−3.5\u00a0% [−4.1, −2.9] worse"},
		{page.Typeset("use --full after 2 CPUs and 50 ms, 3 rounds"), "use --full after 2\u00a0CPUs and 50\u00a0ms, 3 rounds"},
		{page.Sentence("http; quota"), "http; quota"},
		{page.Sentence("keep the default"), "Keep the default"},
		{page.Sentence("./orders"), "./orders"},
		{page.Sentence(""), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
