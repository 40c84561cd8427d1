package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"fmt"
	"net/http"
	"runtime"
	"unsafe"
)

// fieldName is the name of a layer in HTTP fields, as C reads it; nil: the layer's own text.
type fieldName []byte

func newFieldName(name string) (fieldName, error) {
	for i := 0; i < len(name); i++ {
		if name[i] < ' ' || name[i] > '~' {
			return nil, fmt.Errorf("ratecell: the policy's name %q: expected printable ASCII", name)
		}
	}
	if name == "" {
		return nil, nil
	}
	return append([]byte(name), 0), nil
}

// SetHeaders adds to a response's header the fields of draft-ietf-httpapi-ratelimit-headers-11 that tell a
// decision of this limiter:
//
//	RateLimit-Policy: "api";q=100;w=60     each layer's quota and window in seconds
//	RateLimit: "api";r=50;t=30             what remains, and until when
//	Retry-After: 30                        of a denial alone
//
// Times are whole seconds, rounded up. The name, printable ASCII, is what clients know the policy by; of several
// layers, name-1, name-2 and so on. Without (""), each layer is named by its own text. The error is of a name
// that is none, or of a decision that is none of this limiter's; of a closed limiter, [ErrClosed].
func (l *Limiter) SetHeaders(h http.Header, name string, d Decision) error {
	cName, err := newFieldName(name)
	if err != nil {
		return err
	}
	policy, err := l.field(C.RATECELL_HEADER_RATELIMIT_POLICY, cName, d)
	if err != nil {
		return err
	}
	return l.setHeaders(h, cName, policy, d)
}

// setHeaders is SetHeaders with the value of RateLimit-Policy, which is the same for all decisions.
func (l *Limiter) setHeaders(h http.Header, name fieldName, policy string, d Decision) error {
	remaining, err := l.field(C.RATECELL_HEADER_RATELIMIT, name, d)
	if err != nil {
		return err
	}
	// Lists, to which another limiter may have added its own.
	h["Ratelimit-Policy"] = append(h["Ratelimit-Policy"], policy)
	h["Ratelimit"] = append(h["Ratelimit"], remaining)
	if d.Outcome == Denied {
		retry, err := l.field(C.RATECELL_HEADER_RETRY_AFTER, name, d)
		if err != nil {
			return err
		}
		h["Retry-After"] = []string{retry}
	}
	return nil
}

func (l *Limiter) policyField(name fieldName) (string, error) {
	return l.field(C.RATECELL_HEADER_RATELIMIT_POLICY, name, l.PeekAt("", 0))
}

// field is the value of a field; "" of one that is not to be sent with the decision.
func (l *Limiter) field(header C.int32_t, name fieldName, d Decision) (string, error) {
	n := l.native.Load()
	if n == nil || d.Outcome == Closed {
		return "", ErrClosed
	}
	cDecision := d.toC()
	var cName *C.char
	if name != nil {
		cName = (*C.char)(hidden(unsafe.Pointer(&name[0])))
	}
	write := func(buffer []byte) C.int32_t {
		return C.ratecell_limiter_header(n.limiter, header, cName, hiddenDecision(&cDecision),
			bytesOf(stringOf(buffer)), C.size_t(len(buffer)))
	}
	var small [128]byte
	buffer := small[:]
	length := write(buffer)
	if length == C.RATECELL_ENOSPC {
		buffer = make([]byte, write(nil)+1)
		length = write(buffer)
	}
	runtime.KeepAlive(n)
	if length < 0 {
		return "", statusError(length)
	}
	return string(buffer[:length]), nil
}
