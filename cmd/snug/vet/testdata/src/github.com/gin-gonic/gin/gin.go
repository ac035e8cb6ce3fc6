// SPDX-License-Identifier: Apache-2.0

package gin

type Context struct{}
