module github.com/ratecell/ratecell/bindings/go

go 1.19
