#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# nats-bench (NATS, closed loop) as a load command of snug bench and snug tune:
#
#     go install github.com/nats-io/nats.go/examples/nats-bench@latest
#     snug bench --load-cmd contrib/load/nats-bench.sh --url nats://127.0.0.1:4222 -- nats-server
#
# nats-bench sends a number of messages, here 100,000 from one publisher to one subscriber, until
# SNUG_SECONDS are over. An operation is a message that arrived: nats-bench ends when all have. It reads
# no latency, because nats-bench prints none. Arguments go to nats-bench, such as -ms 1024.
set -eu
messages=100000
now() { date +%s%N; }
start=$(now)
end=$(awk "BEGIN { printf \"%.0f\", $start + $SNUG_SECONDS * 1e9 }")
done=0
while :; do
	nats-bench -s "$SNUG_URL" -np "${SNUG_USERS:-1}" -ns 1 -n "$messages" "$@" snug >&2
	done=$((done + messages))
	[ "$(now)" -lt "$end" ] || break
done
awk "BEGIN { printf \"{\\\"operations\\\": %.0f, \\\"errors\\\": 0, \\\"seconds\\\": %.6f}\n\", $done, ($(now) - $start) / 1e9 }"
