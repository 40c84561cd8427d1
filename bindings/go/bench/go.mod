module github.com/ratecell/ratecell/bindings/go/bench

go 1.25.0

require (
	github.com/ratecell/ratecell/bindings/go v0.0.0
	golang.org/x/time v0.14.0
)

require github.com/sethvargo/go-limiter v0.7.1

replace github.com/ratecell/ratecell/bindings/go => ../
