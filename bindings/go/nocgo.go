//go:build !cgo

package ratecell

// Without cgo nothing else of this package is built. A name that nothing declares makes the compiler say why.
var _ = ratecell_needs_cgo__build_with_CGO_ENABLED_1_and_a_C_compiler
