module github.com/ratecell/ratecell/bindings/go/examples/chi

go 1.25.0

require (
	github.com/go-chi/chi/v5 v5.5.0
	github.com/ratecell/ratecell/bindings/go v0.0.0
)

replace github.com/ratecell/ratecell/bindings/go => ../../
