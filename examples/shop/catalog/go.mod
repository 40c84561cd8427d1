module example.com/shop/catalog

go 1.22

require github.com/ratecell/ratecell/bindings/go v0.0.0

replace github.com/ratecell/ratecell/bindings/go => ../../../bindings/go
