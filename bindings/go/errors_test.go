package ratecell

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
		StatusRegionPolicy:           func() (*Limiter, error) { return Open(made, "2/s") },
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

// Of the super-user nothing is refused by a mode: such a one asks as somebody else.
func TestErrorsSayWhichPermissionIsMissing(t *testing.T) {
	if os.Geteuid() == 0 {
		again := exec.Command("/proc/self/exe", "-test.run", "^TestErrorsSayWhichPermissionIsMissing$")
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		again.Dir = "/"
		if output, err := again.CombinedOutput(); err != nil {
			t.Errorf("as another user: %v: %s", err, output)
		}
		return
	}
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.WriteFile(closed, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	_, err := Open(closed, "1/s")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "mode 0400; expected one that user") {
		t.Errorf("a file that may be read: %v, expected one that is fs.ErrPermission and says why", err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	_, err = Open(filepath.Join(dir, "absent"), "1/s")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "mode 0500; expected a file") {
		t.Errorf("a folder that may be read: %v, expected one that is fs.ErrPermission and says why", err)
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
