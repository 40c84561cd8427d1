package prebuilt

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verify compares the C libraries below a folder with its SHA256SUMS. A clone has none of both.
func verify(dir string) (verified int, err error) {
	libraries, err := filepath.Glob(filepath.Join(dir, "*", "libratecell.a"))
	if err != nil {
		return 0, err
	}
	sums, err := os.Open(filepath.Join(dir, "SHA256SUMS"))
	if errors.Is(err, fs.ErrNotExist) && len(libraries) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer sums.Close()
	listed := map[string]bool{}
	for lines := bufio.NewScanner(sums); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			return 0, fmt.Errorf("SHA256SUMS: %q: expected a digest, two spaces and a name", lines.Text())
		}
		bytes, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return 0, err
		}
		if is := sha256.Sum256(bytes); hex.EncodeToString(is[:]) != sum {
			return 0, fmt.Errorf("%s has the digest %x: expected %s", name, is, sum)
		}
		listed[filepath.Join(dir, name)] = true
	}
	for _, library := range libraries {
		if !listed[library] {
			return 0, fmt.Errorf("%s is not in SHA256SUMS", library)
		}
	}
	return len(libraries), nil
}

func TestTheLibrariesAreThoseOfTheirDigests(t *testing.T) {
	verified, err := verify(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d libraries have the digests of SHA256SUMS", verified)
}

func TestAnotherLibraryIsFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is := sha256.Sum256([]byte("library"))
	write("linux_amd64/libratecell.a", "library")
	if _, err := verify(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v: expected that SHA256SUMS is missed", err)
	}
	write("SHA256SUMS", fmt.Sprintf("%x  linux_amd64/libratecell.a\n", is))
	if verified, err := verify(dir); verified != 1 || err != nil {
		t.Errorf("%d, %v", verified, err)
	}
	write("linux_arm64/libratecell.a", "library")
	if _, err := verify(dir); err == nil || !strings.HasSuffix(err.Error(), "is not in SHA256SUMS") {
		t.Errorf("%v", err)
	}
	write("linux_amd64/libratecell.a", "another")
	if _, err := verify(dir); err == nil || !strings.Contains(err.Error(), "expected") {
		t.Errorf("%v", err)
	}
}
