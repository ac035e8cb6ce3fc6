#!/bin/sh
# Fills VictoriaMetrics with 1,000 series of 100 samples each, and waits until they can be queried.
set -eu
awk 'BEGIN {
	for (i = 0; i < 1000; i++)
		for (k = 0; k < 100; k++)
			printf "load{i=\"%d\",shard=\"%d\"} %d %.0f\n", i, i % 10, (i * k) % 97, 1767225600000 + k * 15000
}' | curl -sS --fail --data-binary @- "${SNUG_URL%%/api/*}/api/v1/import/prometheus"
until curl -sS --fail "${SNUG_URL%%/api/*}/internal/force_flush" &&
	curl -sS --fail -G "${SNUG_URL%%/api/*}/api/v1/query" --data-urlencode 'query=count(load)' -d time=1767227000 | grep -q '"1000"'; do
	sleep 0.1
done
