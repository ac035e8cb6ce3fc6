// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// stage is one check.
type stage struct {
	name string
	// every: .ci/run runs the stage for each change. It runs another stage only when a file that the stage
	// depends on has changed since it last passed: files of the packages in tests, of all that they import
	// and of programs and all that those import, and files. See graph.
	every    bool
	tests    []string // packages whose tests the stage runs: CI_TESTS of its script
	programs []string // packages whose code those tests run in other processes
	files    []string // files and directories, relative to the root of the repository
	// long: .ci/run leaves the stage to .ci/full. A result that is too old is an error.
	long bool
	// words is the value of SNUG_E2E, a comma-separated list.
	words string
	// after names the stages whose products this one uses.
	after []string
	// cpus is how many CPUs the stage keeps busy, 1 or 2. Stages run side by side while the sum is
	// at most 2.
	cpus int
	// keeps is what the stage builds once per machine, in the user's cache directory; "" = nothing.
	// Once it is there, the stage takes about 10 s.
	keeps string
	// seconds is the expected time on two cores, used until there is a result.
	seconds int
	script  string // bash, run in the root of the repository
}

// Packages that several stages depend on.
var (
	library = []string{".", "./auto", "./adapt/...", "./limits", "./limiter", "./internal/..."}
	readers = []string{"./cmd/snug/internal/process/...", "./cmd/snug/internal/diagnose/observe"}
)

// staticcheck is the release in use.
const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// apidiff is the release in use.
const apidiff = "golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e"

// stages lists all stages. A stage comes after those whose products it uses.
var stages = []stage{
	{
		name: "packages", every: true, cpus: 1, seconds: 40,
		script: `
[ "$(id -u)" = 0 ] || exit 0
missing=$(grep -v '^#' e2e/packages.txt | while read -r p; do dpkg -s "$p" >/dev/null 2>&1 || echo "$p"; done)
if [ -n "$missing" ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi`,
	},
	{
		name: "vet", every: true, cpus: 2, seconds: 60,
		script: `
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
[ -z "$unformatted" ] || { echo "not gofmt'ed: $unformatted"; exit 1; }
go vet work
go run ` + staticcheck + ` ./... ./cmd/snug/... ./contrib/golangci/... ./contrib/otel/... ./contrib/prometheus/... ./e2e/...`,
	},
	{
		// Finds changes that break programs which use the library. .ci/api names the commit whose
		// API those programs use.
		name: "api", every: true, cpus: 1, seconds: 10,
		script: `
base=$(grep -v '^#' .ci/api)
git cat-file -e "$base" || { echo "the commit of .ci/api is not here: git fetch --unshallow"; exit 1; }
GOBIN="$CI_STAGE" go install ` + apidiff + `
mkdir "$CI_STAGE/base"
git archive "$base" | tar x -C "$CI_STAGE/base"
export GOWORK=off
broken=
for package in $(cd "$CI_STAGE/base" && go list ./... | grep -v /internal/); do
  (cd "$CI_STAGE/base" && "$CI_STAGE/apidiff" -w "$CI_STAGE/api" "$package")
  found=$("$CI_STAGE/apidiff" -incompatible "$CI_STAGE/api" "$package")
  [ -z "$found" ] || { echo "$package"; echo "$found"; broken=yes; }
done
[ -z "$broken" ] || { echo "these changes break programs that use $base: if that is meant, say so in CHANGELOG.md and name the new commit in .ci/api"; exit 1; }`,
	},
	{
		name: "platforms", every: true, cpus: 2, seconds: 30,
		script: `go run ./e2e/ci/platforms ./... ./cmd/snug/... ./contrib/golangci/... ./contrib/otel/... ./contrib/prometheus/...`,
	},
	{
		// The programs as releases have them, and their sizes.
		name: "sizes", every: true, cpus: 2, seconds: 30,
		script: `go run ./e2e/release -sizes`,
	},
	{
		name: "fuzz", every: true, cpus: 2, seconds: 110,
		script: `go run ./e2e/ci/fuzz -each 2s`,
	},
	{
		// All modules but e2e. -count=1, because the test cache does not see the kernel or what child
		// processes build.
		name: "tests", every: true, cpus: 2, seconds: 400, after: []string{"packages"},
		words:  "root",
		tests:  slices.Concat(library, []string{"./cmd/snug/...", "./contrib/golangci/...", "./contrib/otel/...", "./contrib/prometheus/...", "./deploy/..."}),
		script: `gotest -count=1 -timeout 40m $CI_TESTS`,
	},
	{
		// The tests of e2e that need no machine of their own.
		name: "ends", every: true, cpus: 2, seconds: 60, after: []string{"packages"},
		tests:  []string{"./e2e/ci/...", "./e2e/internal/...", "./e2e/report/beforeafter/...", "./e2e/prove/grpc/...", "./e2e/fit/limiterbench/...", "./e2e/fit/peers/...", "./e2e/fit/governed/..."},
		script: `gotest -count=1 $CI_TESTS`,
	},
	{
		// Tests each module as users get it: without go.work. Only the library, if not yet
		// published, comes from this tree.
		name: "modules", cpus: 2, seconds: 60,
		tests: slices.Concat(library, []string{"./contrib/otel/...", "./contrib/prometheus/..."}),
		files: []string{"cmd/snug/go.mod", "cmd/snug/go.sum", "contrib/golangci/go.mod", "contrib/golangci/go.sum"},
		script: alone + `
for toolchain in go1.23.12 local; do
  echo "-- the library, $toolchain"
  GOTOOLCHAIN=$toolchain GOWORK=off gotest -count=1 ./...
done
alone cmd/snug
go vet -modfile="$mod" ./...
# Those of README build the tool once more, which needs what is published: see release.
gotest -count=1 -skip TestReadme -modfile="$mod" .
cd ../..
for module in otel prometheus; do
  alone contrib/$module
  go vet -modfile="$mod" ./...
  gotest -count=1 -modfile="$mod" ./...
  cd ../..
done
alone contrib/golangci
gotest -count=1 -modfile="$mod" ./...`,
	},
	{
		name: "race", cpus: 2, seconds: 30, tests: raced,
		script: `gotest -race $CI_TESTS`,
	},
	{
		// Random worlds that are new in each run; go test uses the same ones every time.
		name: "oracle", cpus: 2, seconds: 20, tests: []string{"./limits"},
		script: `gotest -count=1 -run '^TestOracle$' $CI_TESTS -oracle 20s`,
	},
	{
		name: "native", cpus: 2, seconds: 120, after: []string{"packages"},
		words:    "root,oci",
		tests:    []string{"./e2e/fit/native", "./e2e/fit/oci"},
		programs: []string{"./e2e/fit/pool", "./e2e/fit/ramp", "./e2e/fit/probe", "./e2e/fit/sandboxed", "./adapt/auto", "./auto", "./cmd/snug/internal/cli/fit"},
		script:   `gotest -count=1 $CI_TESTS`,
	},
	{
		name: "browser", cpus: 2, seconds: 60, after: []string{"packages"},
		words:    "browser",
		tests:    []string{"./e2e/report/browser"},
		programs: []string{"./cmd/snug/internal/report/page"},
		script:   `gotest -count=1 $CI_TESTS`,
	},
	{
		name: "prometheus", cpus: 2, seconds: 60, after: []string{"packages"},
		words:    "root,prometheus",
		tests:    []string{"./e2e/cluster/agent", "./e2e/cluster/observe", "./cmd/snug/internal/cluster/fleet", "./contrib/prometheus"},
		programs: []string{"./cmd/snug/internal/cluster/agent"},
		files:    []string{"deploy/helm/snug/files", "docs/runbooks"},
		script:   `gotest -count=1 $CI_TESTS`,
	},
	{
		name: "debian", cpus: 2, seconds: 60, after: []string{"packages"},
		words:    "debian",
		tests:    []string{"./e2e/diagnose/debian"},
		programs: readers,
		script:   `gotest -count=1 $CI_TESTS`,
	},
	{
		// One boot of the guest, with its tests. "machines" boots the other machines.
		name: "guest", cpus: 2, seconds: 400, after: []string{"packages"},
		words:    "vm",
		tests:    []string{"./e2e/fit/vm"},
		programs: []string{"./e2e/fit/vm/...", "./limits", "./internal/sense", "./internal/follow", "./cmd/snug/internal/prove/cgrun"},
		script:   `gotest -count=1 -timeout 40m $CI_TESTS`,
	},
	{
		name: "platforms-vet", cpus: 2, seconds: 100,
		files: []string{"*_windows*.go", "*_darwin*.go", "*_arm64*.go", "*_other*.go", "*_unix*.go"},
		script: `
for system in darwin/arm64 windows/amd64 linux/arm64; do
  export GOOS=${system%/*} GOARCH=${system#*/}
  echo "-- $system"
  (GOWORK=off go vet ./...)
  go vet ./cmd/snug/... ./contrib/golangci/... ./contrib/otel/... ./contrib/prometheus/...
done`,
	},
	{
		name: "hostile", cpus: 2, seconds: 200,
		words:    "hostile",
		tests:    []string{"./e2e/diagnose/hostile"},
		programs: slices.Concat(readers, []string{"./e2e/diagnose/hostile/..."}),
		files:    []string{"cmd/snug/internal/cluster/agent", "cmd/snug/internal/diagnose/examine"},
		script:   `gotest -count=1 -timeout 20m $CI_TESTS`,
	},
	{
		// The library, by every Go release that it supports.
		name: "releases", cpus: 2, seconds: 200,
		tests: library,
		script: `
for toolchain in go1.24.13 go1.25.14 go1.27.3; do
  echo "-- the library, $toolchain"
  GOTOOLCHAIN=$toolchain GOWORK=off gotest -count=1 ./...
done`,
	},
	{
		// Programs of every Go release that the tool reads, and races and contrib by the oldest and the newest.
		name: "toolchains", cpus: 2, seconds: 500, long: true,
		words:    "go",
		tests:    []string{"./cmd/snug/internal/cli", "./cmd/snug/internal/profile/exectrace", "./cmd/snug/internal/process/gobin", "./cmd/snug/internal/process/goproc", "./cmd/snug/internal/process/holders", "./cmd/snug/internal/process/oldgo", "./e2e/diagnose/debian"},
		programs: library,
		script: alone + `
gotest -count=1 -timeout 40m $CI_TESTS
for toolchain in go1.23.12 go1.27.3; do
  echo "-- races in the library, $toolchain"
  GOTOOLCHAIN=$toolchain GOWORK=off gotest -count=1 -race ` + strings.Join(raced, " ") + `
done
for module in otel prometheus; do
  alone contrib/$module
  for toolchain in go1.23.12 go1.27.3; do
    echo "-- contrib/$module, $toolchain"
    GOTOOLCHAIN=$toolchain gotest -count=1 -modfile="$mod" ./...
  done
  gotest -race -modfile="$mod" ./...
  cd ../..
done`,
	},
	{
		// The packages of site/package-lock.json come from the npm registry; nothing else does.
		name: "site", cpus: 2, seconds: 60, after: []string{"packages"},
		words: "site",
		tests: []string{"./e2e/report/browser"},
		files: []string{"README.md", "docs", "site", "cmd/snug/internal/cli/explain", "cmd/snug/internal/cluster/lint", "cmd/snug/internal/cluster/podpatch/reasons.md",
			"cmd/snug/internal/diagnose/rules", "cmd/snug/internal/report/finding", "cmd/snug/vet"},
		script: `
command -v npm >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm >/dev/null
gotest -count=1 -run TestSite $CI_TESTS`,
	},
	{
		// Builds golangci-lint with the plugin.
		name: "golangci", cpus: 2, seconds: 70,
		words:  "golangci",
		tests:  []string{"./contrib/golangci"},
		script: `gotest -count=1 -timeout 40m $CI_TESTS`,
	},
	{
		// Experiments on programs whose best setting is known.
		name: "advice", cpus: 2, seconds: 240,
		words:    "advice",
		tests:    []string{"./e2e/prove/advice"},
		programs: []string{"./e2e/prove/advice/...", "./cmd/snug/internal/prove/runner", "./cmd/snug/internal/prove/experiment", "./cmd/snug/internal/prove/search"},
		files:    []string{"cmd/snug/internal/prove/lab", "cmd/snug/internal/diagnose/size", "cmd/snug/internal/report/content/verdict.go"},
		script:   `gotest -count=1 -timeout 40m $CI_TESTS`,
	},
	{
		// A module of its own, with 60 dependencies.
		name: "recommender", cpus: 2, seconds: 110,
		files: []string{"e2e/fit/peers/recommender"},
		script: `
cd e2e/fit/peers/recommender
export GOWORK=off
go vet .
gotest -count=1 .`,
	},
	{
		name: "machines", cpus: 2, seconds: 2300, after: []string{"packages"}, long: true,
		words:    "vm,machines",
		tests:    []string{"./e2e/fit/vm"},
		programs: []string{"./e2e/fit/vm/...", "./e2e/fit/probe", "./e2e/fit/peers", "./auto", "./adapt/auto", "./cmd/snug/internal/prove/cgrun", "./cmd/snug/internal/process/goproc"},
		files:    []string{"testdata/situations", "e2e/cluster/agent"},
		script:   `gotest -count=1 -timeout 60m $CI_TESTS`,
	},
	{
		name: "engines", cpus: 2, seconds: 180, after: []string{"packages"},
		words:    "engines",
		tests:    []string{"./e2e/fit/engines"},
		programs: []string{"./auto", "./cmd/snug/internal/prove/engine"},
		files:    []string{"cmd/snug/internal/cli/fit", "cmd/snug/internal/cli/prove/in.go"},
		script:   `gotest -count=1 -timeout 60m $CI_TESTS`,
	},
	{
		// Builds what the cache of this machine lacks.
		name: "kubernetes", cpus: 2, seconds: 1500, after: []string{"packages"}, keeps: "snug-kube",
		programs: []string{"./e2e/internal/kubebuild", "./e2e/cluster/lab"},
		script:   `go run ./e2e/cluster/lab -build`,
	},
	{
		name: "release", cpus: 2, seconds: 360, after: []string{"kubernetes"},
		words: "release",
		tests: []string{"./e2e/release"},
		files: []string{"LICENSE", "go.mod", "cmd/snug/go.mod", "cmd/snug/go.sum", "cmd/snug/main.go", "cmd/snug/snug-run", "contrib/otel/go.mod", "contrib/otel/go.sum", "contrib/prometheus/go.mod",
			"contrib/prometheus/go.sum", "install.sh", "contrib/snug.sh", "check", "bench", ".github", ".pre-commit-hooks.yaml", "deploy/helm/snug"},
		script: `
go run ./e2e/release -check
gotest -count=1 -timeout 30m $CI_TESTS`,
	},
	{
		name: "otel", cpus: 2, seconds: 20, after: []string{"kubernetes"},
		words:    "otel",
		tests:    []string{"./e2e/otel"},
		programs: []string{"./e2e/otel/..."},
		files:    []string{"contrib/prometheus/README.md"},
		script:   `gotest -count=1 -timeout 30m $CI_TESTS`,
	},
	{
		name: "kube", cpus: 2, seconds: 150, after: []string{"kubernetes"},
		words:    "kube",
		tests:    []string{"./e2e/cluster/kube", "./e2e/cluster/webhook"},
		programs: []string{"./cmd/snug/internal/cluster/webhook"},
		script:   `lab; gotest -count=1 -timeout 30m $CI_TESTS`,
	},
	{
		name: "chart", cpus: 2, seconds: 90, after: []string{"kubernetes"},
		words:    "chart",
		tests:    []string{"./e2e/cluster/chart"},
		programs: []string{"./cmd/snug/internal/cluster/policy", "./cmd/snug/internal/cluster/guard"},
		files:    []string{"deploy", "cmd/snug/internal/cluster/agent", "cmd/snug/internal/cluster/webhook", "cmd/snug/internal/cli/cluster"},
		script:   `lab; gotest -count=1 -timeout 30m $CI_TESTS`,
	},
	{
		name: "fleet", cpus: 2, seconds: 320, after: []string{"kubernetes"},
		words:    "fleet",
		tests:    []string{"./e2e/cluster/fleet"},
		programs: []string{"./cmd/snug/internal/cluster/fleet", "./cmd/snug/internal/cluster/learned"},
		files:    []string{"deploy", "docs/rollout.md", "cmd/snug/internal/cluster/agent", "cmd/snug/internal/cluster/webhook", "cmd/snug/internal/cli/cluster"},
		script:   `gotest -count=1 -timeout 60m $CI_TESTS`,
	},
	{
		name: "node", cpus: 2, seconds: 240, after: []string{"kubernetes"},
		words:    "node",
		tests:    []string{"./e2e/cluster/node"},
		programs: slices.Concat(readers, []string{"./auto", "./cmd/snug/internal/cluster/webhook"}),
		files:    []string{"deploy", "cmd/snug/internal/cluster/agent", "cmd/snug/internal/diagnose/examine"},
		script:   `gotest -count=1 -timeout 60m $CI_TESTS`,
	},
}

// raced lists the packages with goroutines. The laws and their simulator are pure functions, and
// slow under -race.
var raced = []string{".", "./adapt/...", "./limiter", "./limits", "./internal/apply", "./internal/fit", "./internal/fixture", "./internal/follow",
	"./internal/measure", "./internal/plan", "./internal/sense"}

// alone defines a shell function. It enters the directory of a module and sets mod to a copy of its
// go.mod that uses the library and the tool of this tree instead of published ones.
const alone = `
alone() {
  mod="$CI_STAGE/$(basename "$1").mod"
  cp "$1/go.mod" "$mod"; cp "$1/go.sum" "${mod%.mod}.sum"
  go mod edit -replace github.com/snug-go/snug="$PWD" "$mod"
  case $1 in *golangci) go mod edit -replace github.com/snug-go/snug/cmd/snug="$PWD/cmd/snug" "$mod" ;; esac
  cd "$1"
  export GOWORK=off
  go mod tidy -diff -modfile="$mod"
}
`
