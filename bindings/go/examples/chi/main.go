// The command chi is a server of chi whose clients may make five requests an hour. A middleware of net/http is one of chi's,
// so that nothing stands between the two.
//
//	go run . -addr 127.0.0.1:8080
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

func router(limit func(http.Handler) http.Handler, handler http.HandlerFunc) http.Handler {
	router := chi.NewRouter()
	router.Use(limit)
	router.HandleFunc("/*", handler)
	return router
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	limiter, err := ratecell.New("5/1h")
	if err != nil {
		log.Fatal(err)
	}
	limit := ratecell.Middleware(limiter, ratecell.ByClient(), ratecell.PolicyName("address"))
	log.Fatal(http.ListenAndServe(*addr, router(limit, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "served", chi.URLParam(r, "*"))
	})))
}
