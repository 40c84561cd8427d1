// Package ratecellecho limits the requests of a server of echo. It is a module of its own, so that the binding needs nothing
// but the standard library.
//
//	limit, err := ratecellecho.New(ratecellecho.Config{
//		Limiter: limiter,
//		Key:     ratecellecho.OfRequest(ratecell.ByClient()),
//	})
//	if err != nil { … }
//	server.Use(limit)
package ratecellecho

import (
	"net/http"

	"github.com/labstack/echo/v4"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// Config is what requests are limited by. OnDenied answers a refused request, whose fields are already in the header of the
// response; what it returns is the middleware's result.
type Config = ratecell.DeciderConfig[echo.Context, func(echo.Context, ratecell.Verdict) error]

// New makes a middleware. Requests that are allowed go on, with the fields of the limit in their responses; the others are an
// [echo.HTTPError] with the status of [ratecell.Verdict.Status], which the server's error handler answers, or are answered by
// OnDenied. Permits of layers in_flight are held until the handler has returned, also by a panic. A request with a Delay is
// held for it, and dropped if its client goes meanwhile: the result is then its context's error.
//
// The error says which part of the config is missing, or wrong.
func New(config Config) (echo.MiddlewareFunc, error) {
	decider, err := ratecell.NewDecider(config)
	if err != nil {
		return nil, err
	}
	denied := config.OnDenied
	if denied == nil {
		denied = func(_ echo.Context, v ratecell.Verdict) error { return echo.NewHTTPError(v.Status()) }
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v := decider.Decide(c.Request().Context(), c, c.Response().Header())
			defer v.Release()
			switch {
			case v.Allowed:
				return next(c)
			case v.Gone:
				return c.Request().Context().Err()
			}
			return denied(c, v)
		}
	}, nil
}

// OfRequest has a function of net/http's requests, such as [ratecell.ByClient], [ratecell.ByHeader] or [ratecell.ByRequest],
// take those of echo.
func OfRequest[T any](of func(*http.Request) T) func(echo.Context) T {
	return func(c echo.Context) T { return of(c.Request()) }
}
