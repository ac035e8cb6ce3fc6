// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// stage is one check.
type stage struct {
	name string
	// every: .ci/run runs the stage for each change. It runs another stage only when a file below
	// paths has changed since the stage last passed.
	every bool
	paths []string // files and directories, relative to the root of the repository
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

// Paths that several stages depend on.
var (
	library = []string{"go.mod", "snug.go", "watch.go", "auto", "adapt", "limits", "limiter", "internal"}
	cluster = []string{"cmd/snug/internal/cluster", "cmd/snug/internal/cli/cluster", "deploy/helm/snug/files",
		"cmd/snug/go.mod", "internal/plan", "internal/cgroup", "e2e/cluster/kube", "e2e/cluster/lab", "e2e/go.mod", "e2e/internal", unitTests, libraryTests[1]}
)

// unitTests and libraryTests exclude tests from the paths of stages that run the tool but not its
// tests.
const unitTests = ":(exclude,glob)cmd/snug/**/*_test.go"

var libraryTests = []string{":(exclude,glob)limits/*_test.go", ":(exclude,glob)internal/**/*_test.go"}

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
		// Tests each module as users get it: without go.work. Only the library, if not yet
		// published, comes from this tree.
		name: "modules", every: true, cpus: 2, seconds: 120,
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
		name: "race", every: true, cpus: 2, seconds: 60,
		script: `gotest -race ` + raced,
	},
	{
		name: "fuzz", every: true, cpus: 2, seconds: 160,
		script: `go run ./e2e/ci/fuzz -each 2s`,
	},
	{
		// Random worlds that are new in each run; go test uses the same ones every time.
		name: "oracle", every: true, cpus: 2, seconds: 30,
		script: `gotest -count=1 -run '^TestOracle$' ./limits -oracle 20s`,
	},
	{
		// One boot of the guest, with its tests. "machines" boots the other machines.
		name: "guest", every: true, cpus: 2, seconds: 240, after: []string{"packages"},
		words:  "vm",
		script: `gotest -count=1 -timeout 40m ./e2e/fit/vm`,
	},
	{
		// -count=1, because the test cache does not see the kernel or what child processes build.
		name: "tests", every: true, cpus: 2, seconds: 600, after: []string{"packages"},
		words:  "root,oci,browser,prometheus,debian",
		script: `gotest -count=1 -timeout 40m work`,
	},
	{
		name: "platforms-vet", cpus: 2, seconds: 200,
		paths: []string{":(glob)**/*_windows*.go", ":(glob)**/*_darwin*.go", ":(glob)**/*_arm64*.go", ":(glob)**/*_other*.go", ":(glob)**/*_unix*.go"},
		script: `
for system in darwin/arm64 windows/amd64 linux/arm64; do
  export GOOS=${system%/*} GOARCH=${system#*/}
  echo "-- $system"
  (GOWORK=off go vet ./...)
  go vet ./cmd/snug/... ./contrib/golangci/... ./contrib/otel/... ./contrib/prometheus/...
done`,
	},
	{
		name: "hostile", cpus: 2, seconds: 300,
		words:  "hostile",
		paths:  []string{"cmd/snug/internal/process", "cmd/snug/internal/cluster/agent", "cmd/snug/internal/diagnose/examine", "e2e/diagnose/hostile", "e2e/internal/programs"},
		script: `gotest -count=1 -timeout 20m ./e2e/diagnose/hostile`,
	},
	{
		// Every Go release that the library supports or whose programs the tool reads.
		name: "toolchains", cpus: 2, seconds: 400,
		words: "go",
		paths: slices.Concat(library, []string{"cmd/snug/vet", "cmd/snug/internal/figure", "cmd/snug/internal/profile/exectrace", "cmd/snug/internal/profile/heldprof", "cmd/snug/internal/process/gobin", "cmd/snug/internal/process/goproc",
			"cmd/snug/internal/process/holders", "cmd/snug/internal/process/oldgo", "cmd/snug/internal/process/proc", "cmd/snug/internal/sorting", "cmd/snug/internal/source/govet", "contrib/otel", "contrib/prometheus", "e2e/diagnose/debian", "e2e/internal/cgv1",
			"e2e/internal/figures", "e2e/internal/programs"}),
		script: alone + `
for toolchain in go1.24.13 go1.25.14 go1.27.3; do
  echo "-- the library, $toolchain"
  GOTOOLCHAIN=$toolchain GOWORK=off gotest -count=1 ./...
done
for toolchain in go1.23.12 go1.27.3; do
  echo "-- races in the library, $toolchain"
  GOTOOLCHAIN=$toolchain GOWORK=off gotest -count=1 -race ` + raced + `
done
gotest -count=1 -timeout 40m ./cmd/snug/internal/cli ./cmd/snug/internal/profile/exectrace ./cmd/snug/internal/process/gobin ./cmd/snug/internal/process/goproc ./cmd/snug/internal/process/holders ./cmd/snug/internal/process/oldgo ./e2e/diagnose/debian
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
		name: "site", cpus: 2, seconds: 120, after: []string{"packages"},
		words: "site",
		paths: []string{"README.md", "docs", "site", "cmd/snug/internal/cli/explain", "cmd/snug/internal/cluster/lint", "cmd/snug/internal/cluster/podpatch/reasons.md",
			"cmd/snug/internal/diagnose/rules", "cmd/snug/internal/report/finding", "cmd/snug/vet", "e2e/report/browser", "e2e/internal", unitTests},
		script: `
command -v npm >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm >/dev/null
gotest -count=1 -run TestSite ./e2e/report/browser`,
	},
	{
		// Builds golangci-lint with the plugin.
		name: "golangci", cpus: 2, seconds: 300,
		words:  "golangci",
		paths:  []string{"contrib/golangci", "cmd/snug/vet", "cmd/snug/go.mod", unitTests},
		script: `gotest -count=1 -timeout 40m ./contrib/golangci`,
	},
	{
		// Experiments on programs whose best setting is known.
		name: "advice", cpus: 2, seconds: 240,
		words:  "advice",
		paths:  []string{"cmd/snug/internal/prove", "cmd/snug/internal/diagnose/size", "cmd/snug/internal/report/content/verdict.go", "e2e/prove", unitTests},
		script: `gotest -count=1 -timeout 40m ./e2e/prove/advice`,
	},
	{
		// A module of its own, with 60 dependencies.
		name: "recommender", cpus: 2, seconds: 200,
		paths: []string{"e2e/fit/peers/recommender"},
		script: `
cd e2e/fit/peers/recommender
export GOWORK=off
go vet .
gotest -count=1 .`,
	},
	{
		name: "machines", cpus: 2, seconds: 600, after: []string{"packages"},
		words: "vm,machines",
		paths: slices.Concat(library, []string{"cmd/snug/internal/prove/cgrun", "cmd/snug/internal/process/goproc", "cmd/snug/internal/cluster/agent", "testdata/situations",
			"e2e/cluster/agent", "e2e/fit/peers", "e2e/fit/probe", "e2e/fit/vm", "e2e/internal/figures", "e2e/internal/matrix", "e2e/internal/programs",
			":(exclude)e2e/fit/vm/boot_test.go"}, libraryTests), // it needs no machine; "guest" runs all tests every time
		script: `gotest -count=1 -timeout 60m ./e2e/fit/vm`,
	},
	{
		name: "engines", cpus: 2, seconds: 350, after: []string{"packages"},
		words: "engines",
		paths: slices.Concat([]string{"go.mod", "limits", "internal/cgroup", "internal/fit", "internal/plan", "cmd/snug/internal/cli/fit", "cmd/snug/internal/cli/prove/in.go",
			"cmd/snug/internal/prove/engine", "e2e/fit/engines", "e2e/fit/vm", "e2e/go.mod", "e2e/internal", ":(exclude)e2e/fit/vm/boot_test.go"}, libraryTests),
		script: `gotest -count=1 -timeout 60m ./e2e/fit/engines`,
	},
	{
		// Builds what the cache of this machine lacks.
		name: "kubernetes", cpus: 2, seconds: 1500, after: []string{"packages"}, keeps: "snug-kube",
		paths:  []string{"e2e/internal/kubebuild"},
		script: `go run ./e2e/cluster/lab -build`,
	},
	{
		name: "release", cpus: 2, seconds: 600, after: []string{"kubernetes"},
		words: "release",
		paths: []string{"LICENSE", "go.mod", "cmd/snug/go.mod", "cmd/snug/go.sum", "cmd/snug/main.go", "cmd/snug/snug-run", "contrib/otel/go.mod", "contrib/otel/go.sum", "contrib/prometheus/go.mod", "contrib/prometheus/go.sum", "e2e/release",
			"install.sh", "contrib/snug.sh", "check", "bench", ".github", ".pre-commit-hooks.yaml", "deploy/helm/snug", "e2e/fit/oci", "e2e/internal"},
		script: `
go run ./e2e/release -check
gotest -count=1 -timeout 30m ./e2e/release`,
	},
	{
		name: "otel", cpus: 2, seconds: 20, after: []string{"kubernetes"},
		words:  "otel",
		paths:  []string{"contrib/otel", "contrib/prometheus/README.md", "adapt", "e2e/go.mod", "e2e/internal", "e2e/otel", "cmd/snug/internal/cluster/agent", unitTests},
		script: `gotest -count=1 -timeout 30m ./e2e/otel`,
	},
	{
		name: "kube", cpus: 2, seconds: 120, after: []string{"kubernetes"},
		words:  "kube",
		paths:  slices.Concat(cluster, []string{"e2e/cluster/webhook", "limits"}),
		script: `lab; gotest -count=1 -timeout 30m ./e2e/cluster/kube ./e2e/cluster/webhook`,
	},
	{
		name: "chart", cpus: 2, seconds: 120, after: []string{"kubernetes"},
		words:  "chart",
		paths:  slices.Concat(cluster, []string{"deploy", "e2e/cluster/chart"}),
		script: `lab; gotest -count=1 -timeout 30m ./e2e/cluster/chart`,
	},
	{
		name: "fleet", cpus: 2, seconds: 500, after: []string{"kubernetes"},
		words:  "fleet",
		paths:  slices.Concat(cluster, []string{"deploy", "docs/rollout.md", "e2e/cluster/fleet"}),
		script: `gotest -count=1 -timeout 60m ./e2e/cluster/fleet`,
	},
	{
		name: "node", cpus: 2, seconds: 240, after: []string{"kubernetes"},
		words:  "node",
		paths:  slices.Concat(cluster, library, []string{"deploy", "cmd/snug/internal/diagnose/observe", "cmd/snug/internal/figure", "cmd/snug/internal/process/goproc", "cmd/snug/internal/diagnose/rules", "e2e/cluster/node"}, libraryTests),
		script: `gotest -count=1 -timeout 60m ./e2e/cluster/node`,
	},
}

// raced lists the packages with goroutines. The laws and their simulator are pure functions, and
// slow under -race.
const raced = `. ./adapt/... ./limiter ./limits ./internal/apply ./internal/fit ./internal/fixture ./internal/follow ` +
	`./internal/plan ./internal/sense ./internal/watch`

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

func printStages(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\twords\truns when one of these has changed")
	for _, s := range stages {
		when := strings.NewReplacer(":(glob)", "", ":(exclude,glob)", "not ").Replace(strings.Join(s.paths, " "))
		if s.every {
			when = "anything"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.name, s.words, when)
	}
	return w.Flush()
}
