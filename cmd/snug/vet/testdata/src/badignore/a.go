// SPDX-License-Identifier: Apache-2.0

package badignore

//snug:ignore // want `names no finding`

//snug:ignore gomaxprocs-constant // want `gives no reason`

//snug:ignore no-such-thing because // want `no such finding`

//snug:ignore pool-numcpu the machine is ours alone
