package ratecellecho

import (
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	ratecell "github.com/ratecell/ratecell/bindings/go"
	"github.com/ratecell/ratecell/bindings/go/internal/middlewaretest"
)

func TestServer(t *testing.T) {
	middlewaretest.Run(t, middlewaretest.Framework[echo.Context, func(echo.Context, ratecell.Verdict) error]{
		ByClient:  OfRequest(ratecell.ByClient()),
		ByKey:     OfRequest(ratecell.ByHeader("X-Api-Key")),
		ByRequest: OfRequest(ratecell.ByRequest(ratecell.ByClient())),
		Panics:    func(echo.Context) string { panic("a bug") },
		Teapot:    func(c echo.Context, v ratecell.Verdict) error { return c.String(418, v.Text()) },
		Serve: func(t *testing.T, config Config, hold func()) (string, error) {
			limit, err := New(config)
			if err != nil {
				return "", err
			}
			router := echo.New()
			router.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{
				LogErrorFunc: func(_ echo.Context, err error, _ []byte) error { return err },
			}), limit)
			router.Any("/*", func(c echo.Context) error {
				switch c.Request().URL.Path {
				case "/panic":
					panic("the handler's")
				case "/hold":
					hold()
				}
				return c.String(200, "served")
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
	limit, err := New(Config{
		Limiter: limiter,
		Key:     func(c echo.Context) string { return c.Param("tenant") },
		OnDenied: func(c echo.Context, v ratecell.Verdict) error {
			return c.JSON(v.Status(), map[string]string{"error": v.Text()})
		},
	})
	if err != nil {
		panic(err)
	}
	echo.New().Group("/:tenant", limit)
}
