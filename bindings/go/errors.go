package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is the error of a limiter that is closed.
var ErrClosed = errors.New("ratecell: the limiter is closed")

// Error is what the C library refuses when a limiter is made: a policy, an option, a file, or for want of
// memory.
type Error struct {
	// Status is the number of the error in ratecell.h, below 0.
	Status int
	// Text says what was wrong and what was expected.
	Text string
}

// Error is the text, after "ratecell: ".
func (e *Error) Error() string {
	return "ratecell: " + e.Text
}

func statusError(status C.int32_t) error {
	return &Error{Status: int(status), Text: C.GoString(C.ratecell_strerror(status))}
}

// explained is the error of a status; explain writes a sentence that says more, if there is more to say.
func explained(status C.int32_t, explain func(buffer *C.char, len C.size_t) C.int32_t) error {
	length := explain(nil, 0)
	if length <= 0 {
		return statusError(status)
	}
	buffer := make([]byte, length+1)
	if explain((*C.char)(bytesOf(stringOf(buffer))), C.size_t(len(buffer))) != length {
		return statusError(status)
	}
	return &Error{Status: int(status), Text: string(buffer[:length])}
}

// text is s, which goes to C, where a text ends at its first NUL.
func text(what, s string) error {
	if at := strings.IndexByte(s, 0); at >= 0 {
		return fmt.Errorf("ratecell: the %s has a NUL at byte %d: expected text without", what, at)
	}
	return nil
}
