package ratecell

import (
	"os"
	"strings"
	"testing"
)

// unindented is a text's lines without what indents them.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

// The README's first program is run by ci/go.sh; each of its other snippets is a part of an example, which go test runs.
func TestReadmeIsOfExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	run := unindented(string(examples))
	snippets := strings.Split(string(readme), "```go\n")[2:]
	for _, snippet := range snippets {
		snippet, _, _ = strings.Cut(snippet, "```\n")
		if !strings.Contains(run, unindented(snippet)) {
			t.Errorf("no example has these lines:\n%s", snippet)
		}
	}
	if len(snippets) < 5 {
		t.Errorf("%d snippets", len(snippets))
	}
}
