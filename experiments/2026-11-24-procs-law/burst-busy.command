snug bench --cpus 0.5 --set POLICY=snug,SNUG_ADAPT=cpu --metric mean_seconds,p99_seconds,bad_seconds,gomaxprocs_max,cpu_ms_per_op -- ./governed serve --kind burst --rate 10 --seconds 20
