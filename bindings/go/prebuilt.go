//go:build cgo

package ratecell

/*
#cgo linux,amd64,!musl CFLAGS: -I${SRCDIR}/prebuilt/linux_amd64
#cgo linux,amd64,!musl LDFLAGS: -L${SRCDIR}/prebuilt/linux_amd64
#cgo linux,arm64,!musl CFLAGS: -I${SRCDIR}/prebuilt/linux_arm64
#cgo linux,arm64,!musl LDFLAGS: -L${SRCDIR}/prebuilt/linux_arm64
#cgo linux,amd64,musl CFLAGS: -I${SRCDIR}/prebuilt/linux_amd64_musl
#cgo linux,amd64,musl LDFLAGS: -L${SRCDIR}/prebuilt/linux_amd64_musl
#cgo linux,arm64,musl CFLAGS: -I${SRCDIR}/prebuilt/linux_arm64_musl
#cgo linux,arm64,musl LDFLAGS: -L${SRCDIR}/prebuilt/linux_arm64_musl
#cgo musl CFLAGS: -DRATECELL_GO_MUSL
*/
import "C"

// `go mod vendor` copies no folder but those of packages that are imported.
import (
	_ "github.com/ratecell/ratecell/bindings/go/prebuilt/linux_amd64"
	_ "github.com/ratecell/ratecell/bindings/go/prebuilt/linux_amd64_musl"
	_ "github.com/ratecell/ratecell/bindings/go/prebuilt/linux_arm64"
	_ "github.com/ratecell/ratecell/bindings/go/prebuilt/linux_arm64_musl"
)
