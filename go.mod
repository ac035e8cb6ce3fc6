module github.com/snug-go/snug

go 1.23
