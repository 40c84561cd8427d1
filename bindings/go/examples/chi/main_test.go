package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
	ratecell "github.com/ratecell/ratecell/bindings/go"
	"github.com/ratecell/ratecell/bindings/go/internal/middlewaretest"
)

type refused = func(http.ResponseWriter, *http.Request, ratecell.Verdict)

func TestServer(t *testing.T) {
	middlewaretest.Run(t, middlewaretest.Framework[*http.Request, refused]{
		ByClient:  ratecell.ByClient(),
		ByKey:     ratecell.ByHeader("X-Api-Key"),
		ByRequest: ratecell.ByRequest(ratecell.ByClient()),
		Panics:    func(*http.Request) string { panic("a bug") },
		Teapot: func(w http.ResponseWriter, _ *http.Request, v ratecell.Verdict) {
			http.Error(w, v.Text(), http.StatusTeapot)
		},
		Serve: func(t *testing.T, config ratecell.DeciderConfig[*http.Request, refused], hold func()) (url string, err error) {
			defer func() {
				if said := recover(); said != nil {
					err = fmt.Errorf("%v", said)
				}
			}()
			server := httptest.NewUnstartedServer(router(middleware(config), func(w http.ResponseWriter, r *http.Request) {
				switch chi.URLParam(r, "*") {
				case "panic":
					panic("the handler's")
				case "hold":
					hold()
				}
				fmt.Fprint(w, "served")
			}))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			t.Cleanup(server.Close)
			return server.URL, nil
		},
	})
}

// middleware is net/http's by the options that a config means.
func middleware(config ratecell.DeciderConfig[*http.Request, refused]) func(http.Handler) http.Handler {
	options := []ratecell.MiddlewareOption{ratecell.PolicyName(config.Name)}
	if config.Counts != nil {
		options = append(options, ratecell.CountTo(config.Counts))
	}
	if config.OnFault != nil {
		options = append(options, ratecell.OnFault(config.OnFault))
	}
	if config.FailClosed {
		options = append(options, ratecell.FailClosed())
	}
	if config.Styles != 0 {
		options = append(options, ratecell.Styles(config.Styles))
	}
	if config.Rules != nil {
		return ratecell.RulesMiddleware(config.Rules, config.Attributes, options...)
	}
	if config.Cost != nil {
		options = append(options, ratecell.CostFunc(config.Cost))
	}
	if denied := config.OnDenied; denied != nil {
		options = append(options, ratecell.OnRefused(func(w http.ResponseWriter, r *http.Request, d ratecell.Decision) {
			denied(w, r, ratecell.Verdict{Outcome: d.Outcome, Decision: d})
		}))
	}
	return ratecell.Middleware(config.Limiter, config.Key, options...)
}
