package ratecell

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

const (
	sharedLimit = 400_000
	sharedAsks  = 110_000 // of each of the four, so that none can be done without the others
)

func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == "hammer" {
		if err := hammer(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hammer is testdata/hammer.c in Go.
func hammer(path, policy, key, times string) error {
	limiter, err := Open(path, policy)
	if err != nil {
		return err
	}
	asks, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	admitted := 0
	for ; asks > 0; asks-- {
		if limiter.Allow(key) {
			admitted++
		}
	}
	fmt.Println(admitted)
	return nil
}

// process is one that opens the file, and waits to begin.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{command, stdin, bufio.NewReader(stdout)}
}

// ready waits until the process has opened the file.
func (p *process) ready(t *testing.T) {
	t.Helper()
	if line, err := p.stdout.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s: %q, %v, expected that it is ready", p.command.Path, line, err)
	}
}

// admitted is what the process got.
func (p *process) admitted(t *testing.T) int {
	t.Helper()
	var admitted int
	if _, err := fmt.Fscan(p.stdout, &admitted); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		t.Fatal(err)
	}
	return admitted
}

// Two processes of Go, one of C and this one share a file: together they admit the limit, exactly.
func TestProcessesOfTwoLanguagesShareAFile(t *testing.T) {
	dir := t.TempDir()
	path, program, policy := filepath.Join(dir, "limits"), filepath.Join(dir, "hammer"), yearly(sharedLimit)
	// Compiled as this package was: against lib, or else what is installed.
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if out, err := exec.Command(compiler, "-O2", "-Ilib", "-o", program, "testdata/hammer.c",
		"-Llib", "-l:libratecell.a", "-lpthread", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{path, policy, "k", strconv.Itoa(sharedAsks)}
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// All open the file at once, and whoever comes first makes it.
	processes := []*process{
		start(t, program, args...),
		start(t, test, append([]string{"hammer"}, args...)...),
		start(t, test, append([]string{"hammer"}, args...)...),
	}
	limiter, err := Open(path, policy)
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	for _, p := range processes {
		p.ready(t)
	}
	for _, p := range processes {
		p.stdin.Close()
	}
	mine := 0
	for i := 0; i < sharedAsks; i++ {
		if limiter.Allow("k") {
			mine++
		}
	}
	sum := mine
	for _, p := range processes {
		got := p.admitted(t)
		t.Logf("%s: %d admitted", filepath.Base(p.command.Path), got)
		sum += got
	}
	t.Logf("this process: %d admitted", mine)
	if sum != sharedLimit {
		t.Errorf("%d admitted, expected %d", sum, sharedLimit)
	}
}
