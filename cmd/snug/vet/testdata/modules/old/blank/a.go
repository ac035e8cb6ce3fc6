// SPDX-License-Identifier: Apache-2.0

package blank

import _ "go.uber.org/automaxprocs"
