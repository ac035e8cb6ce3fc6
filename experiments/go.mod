// A module of its own, with nothing to build: so that what is recorded here is not in the
// library's, which everyone downloads.
module github.com/snug-go/snug/experiments

go 1.23
