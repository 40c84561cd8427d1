// Package ratecellfiber limits the requests of a server of fiber. It is a module of its own, so that the binding needs
// nothing but the standard library.
//
//	limit, err := ratecellfiber.New(ratecellfiber.Config{
//		Limiter: limiter,
//		Key:     ratecellfiber.ByClient(),
//	})
//	if err != nil { … }
//	app.Use(limit)
package ratecellfiber

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v3"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// Config is what requests are limited by. OnDenied answers a refused request, whose fields are already in the header of the
// response; what it returns is the middleware's result.
type Config = ratecell.DeciderConfig[fiber.Ctx, func(fiber.Ctx, ratecell.Verdict) error]

// New makes a middleware. Requests that are allowed go on, with the fields of the limit in their responses; the others are
// answered as [ratecell.Verdict.Status] says, or by OnDenied. Permits of layers in_flight are held until the handlers have
// returned, also by a panic: of a response that is streamed, not until its end. A request with a Delay is held for it; fasthttp
// does not notice when its client goes meanwhile.
//
// The error says which part of the config is missing, or wrong.
func New(config Config) (fiber.Handler, error) {
	decider, err := ratecell.NewDecider(config)
	if err != nil {
		return nil, err
	}
	denied := config.OnDenied
	if denied == nil {
		denied = func(c fiber.Ctx, v ratecell.Verdict) error {
			return c.Status(v.Status()).SendString(http.StatusText(v.Status()) + "\n")
		}
	}
	return func(c fiber.Ctx) error {
		fields := make(http.Header, 3)
		v := decider.Decide(c.Context(), c, fields)
		defer v.Release()
		for name, lines := range fields {
			for _, line := range lines {
				c.RequestCtx().Response.Header.Add(name, line)
			}
		}
		switch {
		case v.Allowed:
			return c.Next()
		case v.Gone:
			return c.Context().Err()
		}
		return denied(c, v)
	}, nil
}

// ByClient keys requests by their client, as [ratecell.ByClient] does with these options. It panics if one is wrong.
func ByClient(options ...ratecell.ClientOption) func(fiber.Ctx) string {
	clients, err := ratecell.NewClients(options...)
	if err != nil {
		panic(err)
	}
	return func(c fiber.Ctx) string {
		return clients.Key(c.RequestCtx().RemoteAddr().String(), header(c))
	}
}

// ByHeader keys requests by the value of a field, as [ratecell.ByHeader] does: a request without it is not limited.
func ByHeader(name string) func(fiber.Ctx) string {
	return func(c fiber.Ctx) string { return c.Get(name) }
}

// ByRequest tells rules of a request its method, its path, its host, its client by this key function, and its header, as
// [ratecell.ByRequest] does. The path is encoded as it was sent, and begins and ends as it does for fiber's routes. These ignore
// case, unless the app has CaseSensitive: a file of rules for it has path_case = "ignore".
func ByRequest(client func(fiber.Ctx) string) func(fiber.Ctx) ratecell.Attributes {
	return func(c fiber.Ctx) ratecell.Attributes {
		a := ratecell.Attributes{}
		for name, lines := range header(c) {
			a["header:"+strings.ToLower(name)] = strings.Join(lines, ", ")
		}
		a["method"] = c.Method()
		a["path"] = path(c)
		if host := string(c.RequestCtx().Request.Header.Host()); host != "" {
			a["host"] = host
		}
		if key := client(c); key != "" {
			a["client"] = key
		}
		return a
	}
}

// path is what fiber has its routes by, still encoded: fasthttp ends it at a #, which net/http takes for a part of it.
func path(c fiber.Ctx) string {
	uri := c.RequestCtx().URI()
	path := string(uri.PathOriginal())
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if query := uri.QueryString(); len(query) > 0 {
		path += "?" + string(query)
	}
	return path
}

func header(c fiber.Ctx) http.Header {
	h := http.Header{}
	for name, value := range c.RequestCtx().Request.Header.All() {
		h.Add(string(name), string(value))
	}
	return h
}
