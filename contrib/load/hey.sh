#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# hey (HTTP/1.1, closed loop) as a load command of snug bench and snug tune:
#
#     snug bench --users 8,32 --load-cmd contrib/load/hey.sh --url http://127.0.0.1:8080/ -- ./server
#
# It reads "Total: 4.00 secs", "Slowest:", "50% in 0.0028 secs", "[200] 3444 responses" and the counts
# of errors. With --load 800/s its users send no faster than that together, and still wait for answers.
# Arguments go to hey, such as -m POST.
set -eu
users=${SNUG_USERS:-32}
if [ -n "${SNUG_RATE:-}" ]; then # -q is of each user
	set -- -q "$(awk "BEGIN { print $SNUG_RATE / $users }")" "$@"
fi
hey -z "${SNUG_SECONDS}s" -c "$users" "$@" "$SNUG_URL" | awk '
	{ print > "/dev/stderr" }
	$1 == "Total:" { span = $2 }
	$1 == "Slowest:" { max = $2 }
	$1 ~ /%$/ && $2 == "in" { p[$1] = $3 }
	/distribution:$/ { part = $1 }
	part == "Status" && $3 == "responses" { if ($1 ~ /^\[2/) good += $2; else bad += $2 }
	part == "Error" && $1 ~ /^\[[0-9]+\]$/ { gsub(/[][]/, "", $1); bad += $1 }
	END {
		if (span == "") exit 1
		printf "{\"operations\": %.0f, \"errors\": %.0f, \"seconds\": %.4f, \"p50_seconds\": %.4f, \"p95_seconds\": %.4f, \"p99_seconds\": %.4f, \"max_seconds\": %.4f}\n",
			good, bad, span, p["50%"], p["95%"], p["99%"], max
	}'
