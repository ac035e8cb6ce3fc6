#!/usr/bin/env bash
# get.sh DIR: all programs and load tools of this experiment, in DIR/bin. What Debian 12 ships is
# unpacked, not installed; the rest is built from Go modules, one at a time. It checks everything
# against programs.sha256, and with RECORD=1 it writes that file.
# The load tools need the libraries of Debian's wrk, dnsperf and nghttp2-client.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mkdir -p "$1" && cd "$1" && pwd)
bin=$dir/bin
mkdir -p "$bin" "$dir/debs" "$dir/debian"

# debian PACKAGE VERSION: its commands go to bin.
debian() {
  local deb
  deb=$(compgen -G "$dir/debs/$1_*.deb" | head -n 1) || {
    (cd "$dir/debs" && apt-get download "$1=$2" 2>/dev/null)
    deb=$(compgen -G "$dir/debs/$1_*.deb" | head -n 1)
  }
  dpkg -x "$deb" "$dir/debian"
}
debian caddy 2.6.2-5
debian etcd-server 3.4.23-4+b4
debian influxdb '1.6.7~rc0-1+b13'
debian victoria-metrics '1.79.5+ds1-2+b5'
debian prometheus 2.42.0+ds-5+deb12u1
debian docker-registry 2.8.2+ds1-1
debian hugo 0.111.3-1
debian hey 0.1.4-2+b4
debian wrk 4.1.0-3+b2
debian nghttp2-client 1.52.0-1+deb12u3
debian dnsperf 2.10.0-2
debian nginx 1.22.1-9+deb12u11
for name in caddy etcd influxd victoria-metrics vmauth prometheus docker-registry hugo hey wrk h2load dnsperf; do
  cp "$dir/debian/usr/bin/$name" "$bin/$name"
done

# module NAME MODULE@VERSION [PACKAGE [REPLACE]]: builds bin/NAME in a module of its own, so that it
# has the requirements of MODULE. REPLACE is what MODULE itself replaces.
module() {
  [ ! -e "$bin/$1" ] || return 0
  local work=$dir/src/$1
  mkdir -p "$work"
  (cd "$work" && rm -f go.mod go.sum && go mod init "get/$1" && { [ -z "${4:-}" ] || go mod edit -replace "$4"; } &&
    go get "${3:-${2%@*}}@${2#*@}" && ${NICE:-} go build -trimpath -o "$bin/$1" "${3:-${2%@*}}")
}
export GOWORK=off GOFLAGS=-mod=mod CGO_ENABLED=0
svc=github.com/judwhite/go-svc=github.com/mreiferson/go-svc@v1.2.2-0.20210815184239-7a96e00010f6
module nats-server github.com/nats-io/nats-server/v2@v2.15.2
module nsqd github.com/nsqio/nsq@v1.3.0 github.com/nsqio/nsq/apps/nsqd $svc
module bench_writer github.com/nsqio/nsq@v1.3.0 github.com/nsqio/nsq/bench/bench_writer $svc
module bench_reader github.com/nsqio/nsq@v1.3.0 github.com/nsqio/nsq/bench/bench_reader $svc
module esbuild github.com/evanw/esbuild@v0.28.2 github.com/evanw/esbuild/cmd/esbuild
module etcd3.6 go.etcd.io/etcd/server/v3@v3.6.13
module opa github.com/open-policy-agent/opa@v1.22.3
module coredns github.com/coredns/coredns@v1.14.5
module caddy2.11 github.com/caddyserver/caddy/v2@v2.11.9 github.com/caddyserver/caddy/v2/cmd/caddy
module registry3 github.com/distribution/distribution/v3@v3.1.2 github.com/distribution/distribution/v3/cmd/registry
module prometheus3 github.com/prometheus/prometheus@v0.316.0 github.com/prometheus/prometheus/cmd/prometheus
module victoria-metrics1 github.com/VictoriaMetrics/VictoriaMetrics@v1.136.0 github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics
module oauth2-proxy github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6
module centrifugo github.com/centrifugal/centrifugo/v6@v6.9.1
module geth github.com/ethereum/go-ethereum@v1.17.10 github.com/ethereum/go-ethereum/cmd/geth
module jaeger github.com/jaegertracing/jaeger@v1.76.0 github.com/jaegertracing/jaeger/cmd/all-in-one
module pushgateway github.com/prometheus/pushgateway@v1.11.1
module gofakes3 github.com/johannesboyne/gofakes3@v1.2.0 github.com/johannesboyne/gofakes3/cmd/gofakes3
module vegeta github.com/tsenart/vegeta/v12@v12.13.0
module nats github.com/nats-io/natscli@v0.5.0 github.com/nats-io/natscli/nats
module etcd-benchmark go.etcd.io/etcd/v3@v3.6.13 go.etcd.io/etcd/v3/tools/benchmark

[ -e "$dir/npm/package" ] || (mkdir -p "$dir/npm" && cd "$dir/npm" && npm pack --silent three@0.180.0 && tar -xzf three-*.tgz)

cd "$bin"
if [ -n "${RECORD:-}" ]; then
  sha256sum -- * >"$here/programs.sha256"
else
  sha256sum --check --quiet "$here/programs.sha256"
fi
