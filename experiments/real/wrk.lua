-- Requests from WRK_PATHS (a file with one path in each line) or the URL's path, in turn, with
-- WRK_BODIES (one body in each line) and WRK_HEADERS (Name: value in each line). Prints one line of JSON.
local function lines(name)
  local file, list = os.getenv(name), {}
  if file then for line in io.lines(file) do list[#list + 1] = line end end
  return list
end
local paths, bodies, n = lines("WRK_PATHS"), lines("WRK_BODIES"), 0
for _, line in ipairs(lines("WRK_HEADERS")) do
  local name, value = line:match("^(.-): (.*)$")
  wrk.headers[name] = value
end
request = function()
  n = n + 1
  local path, body
  if #paths > 0 then path = paths[n % #paths + 1] end
  if #bodies > 0 then body = bodies[n % #bodies + 1] end
  return wrk.format(body and "POST" or "GET", path, nil, body)
end
done = function(summary, latency)
  local e = summary.errors
  local function at(p) return latency:percentile(p) / 1e6 end
  io.write(string.format('{"operations":%d,"errors":%d,"seconds":%.6f,"p50_seconds":%.6f,"p95_seconds":%.6f,"p99_seconds":%.6f}\n',
    summary.requests - e.status, e.status + e.connect + e.read + e.write + e.timeout, summary.duration / 1e6, at(50), at(95), at(99)))
end
