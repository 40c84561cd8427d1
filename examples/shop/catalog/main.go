// The command catalog is the shop's service in Go: what there is to buy, under the shop's limits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "where to listen")
	limits := flag.String("limits", "limits.toml", "the file of rules")
	cells := flag.String("cells", "/dev/shm/shop", "the file in which all of the shop counts")
	flag.Parse()
	if err := serve(*addr, *limits, *cells); err != nil {
		log.Fatal(err)
	}
}

func serve(addr, limits, cells string) error {
	text, err := os.ReadFile(limits)
	if err != nil {
		return err
	}
	rules, err := ratecell.OpenRules(cells, string(text), ratecell.Reserving())
	if err != nil {
		return err
	}
	defer rules.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("/catalog/health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/catalog", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "bread, cheese, wine") })
	mux.HandleFunc("/catalog/search", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Second):
			fmt.Fprintln(w, "cheese")
		case <-r.Context().Done():
		}
	})
	// nginx, the one proxy before the service, has appended the visitor's address.
	client := ratecell.ByClient(ratecell.ClientField("X-Forwarded-For", ratecell.ListField), ratecell.TrustedHops(1),
		ratecell.ClientWidth(32, 128))
	server := &http.Server{
		Addr:              addr,
		Handler:           ratecell.RulesMiddleware(rules, ratecell.ByRequest(client))(mux),
		ReadHeaderTimeout: 10 * time.Second,
	}

	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := make(chan error, 1)
	go func() {
		<-stopped.Done()
		done <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}
