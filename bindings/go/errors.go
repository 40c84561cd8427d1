package ratecell

/*
#include "library.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

// ErrClosed is the error of a limiter that is closed.
var ErrClosed = errors.New("ratecell: the limiter is closed")

// Error is what the C library refuses when a limiter is made: a policy, an option, a file, or for want of
// memory.
type Error struct {
	// Status is the kind of the error.
	Status Status
	// Text says what was wrong and what was expected.
	Text string
	// Err is the system's error of a file that cannot be opened, a [*fs.PathError]; otherwise nil.
	Err error
}

// Error is the text, after "ratecell: ".
func (e *Error) Error() string {
	return "ratecell: " + e.Text
}

// Unwrap is Err, so that errors.Is finds [fs.ErrNotExist] and the like.
func (e *Error) Unwrap() error {
	return e.Err
}

func statusError(status C.int32_t) *Error {
	return &Error{Status: Status(status), Text: Status(status).String()}
}

// explained is the error of a status; explain writes a sentence that says more, if there is more to say.
func explained(status C.int32_t, explain func(buffer *C.char, len C.size_t) C.int32_t) *Error {
	length := explain(nil, 0)
	if length <= 0 {
		return statusError(status)
	}
	buffer := make([]byte, length+1)
	if explain((*C.char)(bytesOf(stringOf(buffer))), C.size_t(len(buffer))) != length {
		return statusError(status)
	}
	return &Error{Status: Status(status), Text: string(buffer[:length])}
}

// openError is the system's error that explains why the C library cannot open a file; nil if the system has refused
// something else, or nothing any more.
func openError(path, explanation string) error {
	_, after, found := strings.Cut(explanation, "(os error ")
	number, _, _ := strings.Cut(after, ")")
	errno, err := strconv.Atoi(number)
	if !found || err != nil {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: syscall.Errno(errno)}
}

// text is s, which goes to C, where a text ends at its first NUL.
func text(what, s string) error {
	if at := strings.IndexByte(s, 0); at >= 0 {
		return fmt.Errorf("ratecell: the %s has a NUL at byte %d: expected text without", what, at)
	}
	return nil
}
