package ratecell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestErrorsHaveAStatus(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(dir, "made")
	limiter, err := Open(made, "1/s", MaxKeys(100))
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	for status, call := range map[Status]func() (*Limiter, error){
		StatusPolicySyntax:           func() (*Limiter, error) { return New("1 a second") },
		StatusPolicyUnknownAlgorithm: func() (*Limiter, error) { return New("lucky 1/s") },
		StatusPolicyZeroLimit:        func() (*Limiter, error) { return New("0/s") },
		StatusPolicyZeroPeriod:       func() (*Limiter, error) { return New("1/0s") },
		StatusPolicyZeroCapacity:     func() (*Limiter, error) { return New("1/s burst=0") },
		StatusNoMemory:               func() (*Limiter, error) { return New("1/s", MaxKeys(1<<62)) },
		StatusFile:                   func() (*Limiter, error) { return Open(dir, "1/s") },
		StatusRegionNone:             func() (*Limiter, error) { return Open(text, "1/s") },
		StatusRegionLayers:           func() (*Limiter, error) { return Open(made, "1/s & 2/m") },
		StatusRegionWords:            func() (*Limiter, error) { return Open(made, "fixed_window 1/s") },
		StatusRegionMaxKeys:          func() (*Limiter, error) { return Open(made, "1/s", MaxKeys(200)) },
		StatusRegionWhenFull:         func() (*Limiter, error) { return Open(made, "1/s", WhenFull(FullDeny)) },
		StatusRegionNoWord:           func() (*Limiter, error) { return Open(made, "sliding_log 1/s") },
	} {
		_, err := call()
		var failed *Error
		if !errors.As(err, &failed) || failed.Status != status {
			t.Errorf("%v, expected an Error of the status %v", err, status)
		}
	}
}

// What the system has against a file is an error of package fs.
func TestErrorsWrapTheSystems(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "no", "file")
	_, err := Open(path, "1/s")
	var opened *fs.PathError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &opened) || opened.Path != path {
		t.Errorf("no folder: %v, expected one that is fs.ErrNotExist and names %s", err, path)
	}
	if _, err := Open(dir, "1/s"); !errors.As(err, &opened) || opened.Path != dir {
		t.Errorf("a folder: %v, expected one that wraps a PathError", err)
	}
	if _, err := New("0/s"); errors.As(err, &opened) || errors.Unwrap(err) != nil {
		t.Errorf("no file: %v wraps %v", err, errors.Unwrap(err))
	}
}
