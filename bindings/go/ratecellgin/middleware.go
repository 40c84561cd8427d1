// Package ratecellgin limits the requests of a server of gin. It is a module of its own, so that the binding needs nothing
// but the standard library.
//
//	limit, err := ratecellgin.New(ratecellgin.Config{
//		Limiter: limiter,
//		Key:     ratecellgin.OfRequest(ratecell.ByClient()),
//	})
//	if err != nil { … }
//	router.Use(limit)
package ratecellgin

import (
	"net/http"

	"github.com/gin-gonic/gin"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// Config is what requests are limited by. OnDenied answers a refused request, whose fields are already in the header of the
// response; handlers that follow are not called, whatever it does.
type Config = ratecell.DeciderConfig[*gin.Context, func(*gin.Context, ratecell.Verdict)]

// New makes a middleware. Requests that are allowed go on, with the fields of the limit in their responses; the others are
// answered as [ratecell.Verdict.Status] says, or by OnDenied. Permits of layers in_flight are held until the handlers have
// returned, also by a panic. A request with a Delay is held for it, and dropped if its client goes meanwhile.
//
// The error says which part of the config is missing, or wrong.
func New(config Config) (gin.HandlerFunc, error) {
	decider, err := ratecell.NewDecider(config)
	if err != nil {
		return nil, err
	}
	denied := config.OnDenied
	if denied == nil {
		denied = func(c *gin.Context, v ratecell.Verdict) { c.String(v.Status(), http.StatusText(v.Status())+"\n") }
	}
	return func(c *gin.Context) {
		v := decider.Decide(c.Request.Context(), c, c.Writer.Header())
		defer v.Release()
		if v.Allowed {
			c.Next()
			return
		}
		c.Abort()
		if !v.Gone {
			denied(c, v)
		}
	}, nil
}

// OfRequest has a function of net/http's requests, such as [ratecell.ByClient], [ratecell.ByHeader] or [ratecell.ByRequest],
// take those of gin.
func OfRequest[T any](of func(*http.Request) T) func(*gin.Context) T {
	return func(c *gin.Context) T { return of(c.Request) }
}
