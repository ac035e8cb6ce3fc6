snug bench --cpus 1 --gomaxprocs default,16 --set POLICY=snug,SNUG_ADAPT=cpu --metric ops_per_second,cpu_us_per_op -- ./governed stalls --warm 16 --seconds 16
