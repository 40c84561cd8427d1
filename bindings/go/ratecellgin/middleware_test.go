package ratecellgin

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	ratecell "github.com/ratecell/ratecell/bindings/go"
	"github.com/ratecell/ratecell/bindings/go/internal/middlewaretest"
)

func TestServer(t *testing.T) {
	gin.SetMode(gin.TestMode)
	middlewaretest.Run(t, middlewaretest.Framework[*gin.Context, func(*gin.Context, ratecell.Verdict)]{
		ByClient:  OfRequest(ratecell.ByClient()),
		ByKey:     OfRequest(ratecell.ByHeader("X-Api-Key")),
		ByRequest: OfRequest(ratecell.ByRequest(ratecell.ByClient())),
		Panics:    func(*gin.Context) string { panic("a bug") },
		Teapot:    func(c *gin.Context, v ratecell.Verdict) { c.String(418, v.Text()) },
		Serve: func(t *testing.T, config Config, hold func()) (string, error) {
			limit, err := New(config)
			if err != nil {
				return "", err
			}
			router := gin.New()
			router.Use(gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, _ any) { c.AbortWithStatus(500) }), limit)
			router.Any("/*path", func(c *gin.Context) {
				switch c.Param("path") {
				case "/panic":
					panic("the handler's")
				case "/hold":
					hold()
				}
				c.String(200, "served")
			})
			server := httptest.NewServer(router)
			t.Cleanup(server.Close)
			return server.URL, nil
		},
	})
}

func ExampleNew() {
	limiter, err := ratecell.New("100/s burst=200")
	if err != nil {
		panic(err)
	}
	router := gin.New()
	limit, err := New(Config{
		Limiter: limiter,
		Key:     func(c *gin.Context) string { return c.GetString("user") },
	})
	if err != nil {
		panic(err)
	}
	router.Use(limit)
}

// The README's snippet is the example above.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("middleware_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, snippet, _ := strings.Cut(string(readme), "```text\nlimit, err := ratecellgin.New")
	snippet, _, found := strings.Cut(snippet, "```")
	snippet = strings.ReplaceAll(snippet, "ratecellgin.", "")
	snippet = strings.ReplaceAll(snippet, "{ … }", "{\n\tpanic(err)\n}")
	for _, line := range strings.Split(strings.TrimSuffix(snippet, "\n"), "\n") {
		if !strings.Contains(string(tests), "\n\t"+line+"\n") && !strings.Contains(string(tests), "New"+line+"\n") {
			t.Errorf("the example has no line %q", line)
		}
	}
	if !found {
		t.Error("the README has no snippet")
	}
}
