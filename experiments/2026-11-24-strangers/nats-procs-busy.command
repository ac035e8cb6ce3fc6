snug bench --cpus 0.75 --memory 1GiB --set SNUG_ADAPT=cpu --metric ops_per_second,cpu_us_per_op -- ./one nats
