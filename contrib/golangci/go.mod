module github.com/snug-go/snug/contrib/golangci

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/snug-go/snug/cmd/snug v0.1.0
	golang.org/x/tools v0.52.0
)
