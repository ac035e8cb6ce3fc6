snug tune --workload http/gc --memory 128MiB --budget 5m --window 1500ms
