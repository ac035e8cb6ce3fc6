module github.com/snug-go/snug/e2e

go 1.26.0

require (
	github.com/KimMachineGun/automemlimit v1.0.1
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/panjf2000/ants/v2 v2.12.1
	github.com/snug-go/snug v0.0.0
	go.uber.org/automaxprocs v1.6.0
	golang.org/x/mod v0.42.0
	golang.org/x/sync v0.24.0
)

require golang.org/x/tools v0.52.0 // indirect

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/pbnjay/memory v0.0.0-20210728143218-7b4eea64cf58 // indirect
	go.yaml.in/yaml/v3 v3.0.5
)

// Nobody installs this module; the tree's library is the one to test.
replace github.com/snug-go/snug => ../

// In go.work this is also the tool that contrib/golangci requires.
replace github.com/snug-go/snug/cmd/snug => ../cmd/snug
