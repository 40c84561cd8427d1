package ratecellfiber

import (
	"net"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"
	ratecell "github.com/ratecell/ratecell/bindings/go"
	"github.com/ratecell/ratecell/bindings/go/internal/middlewaretest"
)

func TestServer(t *testing.T) {
	middlewaretest.Run(t, middlewaretest.Framework[fiber.Ctx, func(fiber.Ctx, ratecell.Verdict) error]{
		ByClient:  ByClient(),
		ByKey:     ByHeader("X-Api-Key"),
		ByRequest: ByRequest(ByClient()),
		Panics:    func(fiber.Ctx) string { panic("a bug") },
		Teapot:    func(c fiber.Ctx, v ratecell.Verdict) error { return c.Status(418).SendString(v.Text()) },
		Serve: func(t *testing.T, config Config, hold func()) (string, error) {
			limit, err := New(config)
			if err != nil {
				return "", err
			}
			app := fiber.New()
			app.Use(recover.New(), limit)
			app.Use(func(c fiber.Ctx) error {
				switch c.Path() {
				case "/panic":
					panic("the handler's")
				case "/hold":
					hold()
				}
				return c.SendString("served")
			})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if err := app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}); err != nil {
					t.Error(err)
				}
			}()
			t.Cleanup(func() {
				if err := app.Shutdown(); err != nil {
					t.Error(err)
				}
			})
			return "http://" + listener.Addr().String(), nil
		},
	})
}

func ExampleNew() {
	limiter, err := ratecell.New("100/s burst=200")
	if err != nil {
		panic(err)
	}
	proxies := []ratecell.ClientOption{ratecell.ClientField("X-Forwarded-For", ratecell.ListField), ratecell.TrustedHops(1)}
	limit, err := New(Config{Limiter: limiter, Key: ByClient(proxies...)})
	if err != nil {
		panic(err)
	}
	fiber.New().Use(limit)
}
