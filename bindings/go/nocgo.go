//go:build !cgo

package ratecell

// Without cgo the rest of this package cannot be built. The compiler says so by this name, which is not declared.
var _ = ratecell_needs_cgo__build_with_CGO_ENABLED_1_and_a_C_compiler
