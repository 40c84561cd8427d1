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

// sentence is room for what C has to say about a call with these texts, each of which it may quote more than once.
func sentence(texts ...string) []byte {
	room := 1024
	for _, text := range texts {
		room += 4 * len(text)
	}
	return make([]byte, room)
}

// explained is the error of a status; why is the sentence that C wrote about it and a NUL, or empty.
func explained(status C.int32_t, why []byte) *Error {
	if sentence, _, _ := strings.Cut(stringOf(why), "\x00"); sentence != "" {
		return &Error{Status: Status(status), Text: sentence}
	}
	return statusError(status)
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
