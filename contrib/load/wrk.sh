#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# wrk (HTTP/1.1, closed loop) as a load command of snug bench and snug tune:
#
#     snug bench --users 8,32 --load-cmd contrib/load/wrk.sh --url http://127.0.0.1:8080/ -- ./server
#
# It reads "N requests in 4.00s", the percentiles of --latency, and the lines of errors. SNUG_SECONDS
# must be whole seconds. Arguments go to wrk, such as -s script.lua.
set -eu
wrk --latency -t 1 -c "${SNUG_USERS:-32}" -d "${SNUG_SECONDS}s" "$@" "$SNUG_URL" | awk '
	function seconds(t) {
		if (t ~ /us$/) return t / 1e6
		if (t ~ /ms$/) return t / 1e3
		if (t ~ /m$/) return t * 60
		return t + 0
	}
	{ print > "/dev/stderr" }
	$2 == "requests" && $3 == "in" { sub(",", "", $4); all = $1; span = seconds($4) }
	$1 ~ /^[0-9]+%$/ { p[$1] = seconds($2) }
	$1 == "Latency" && $4 ~ /s$/ { max = seconds($4) }
	$1 == "Socket" { # Socket errors: connect 0, read 1, write 0, timeout 2
		for (i = 4; i <= NF; i += 2) socket += $i
	}
	$1 == "Non-2xx" { bad = $NF }
	END {
		if (all == "") exit 1
		printf "{\"operations\": %.0f, \"errors\": %.0f, \"seconds\": %.6f, \"p50_seconds\": %.6f, \"p99_seconds\": %.6f, \"max_seconds\": %.6f}\n",
			all - bad, socket + bad, span, p["50%"], p["99%"], max
	}'
