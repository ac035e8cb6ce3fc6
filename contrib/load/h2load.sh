#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# h2load (HTTP/2, closed loop) as a load command of snug bench and snug tune:
#
#     snug bench --users 8,32 --load-cmd contrib/load/h2load.sh --url https://127.0.0.1:8443/ -- ./server
#
# It reads "finished in 2.00s" and "requests: ... succeeded, ... failed". Its latencies have no
# percentiles, only a longest one. Arguments go to h2load, such as -m 10 or --h1.
set -eu
h2load -D "$SNUG_SECONDS" -t 1 -c "${SNUG_USERS:-32}" "$@" "$SNUG_URL" | awk '
	function seconds(t) {
		if (t ~ /us$/) return t / 1e6
		if (t ~ /ms$/) return t / 1e3
		if (t ~ /m$/) return t * 60
		return t + 0
	}
	{ print > "/dev/stderr" }
	$1 == "finished" { sub(",", "", $3); span = seconds($3) }
	$1 == "requests:" { good = $8; bad = $10 + $14 }
	$1 == "time" && $3 == "request:" { max = seconds($5) }
	END {
		if (span == "") exit 1
		printf "{\"operations\": %.0f, \"errors\": %.0f, \"seconds\": %.6f, \"max_seconds\": %.6f}\n", good, bad, span, max
	}'
