// The command server answers each address so many times, and together with all servers that were given the same
// file:
//
//	go run ./examples/server -addr :8080 -file /tmp/limits -policy '2/1m' &
//	go run ./examples/server -addr :8081 -file /tmp/limits -policy '2/1m' &
//	curl -i localhost:8080; curl -i localhost:8081; curl -i localhost:8080
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
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "where to listen")
	file := flag.String("file", "", "the file that other servers share; without it, limit alone")
	policy := flag.String("policy", "10/s burst=20", "what each address is allowed")
	hops := flag.Int("proxies", 0, "how many trusted proxies append to X-Forwarded-For")
	flag.Parse()
	if err := serve(*addr, *file, *policy, *hops); err != nil {
		log.Fatal(err)
	}
}

func serve(addr, file, policy string, hops int) error {
	limiter, err := open(file, policy)
	if err != nil {
		return err
	}
	defer limiter.Close()
	server := &http.Server{
		Addr:              addr,
		Handler:           limited(limiter, hops),
		ReadHeaderTimeout: 10 * time.Second,
	}

	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	done := make(chan error, 1)
	go func() {
		<-stopped.Done()
		done <- server.Shutdown(context.Background())
	}()
	log.Printf("%s: %s for each address", addr, limiter.Policy())
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}

// limited greets whom the limiter allows.
func limited(limiter *ratecell.Limiter, hops int) http.Handler {
	key := ratecell.ByClient()
	if hops > 0 {
		key = ratecell.ByClient(ratecell.ClientField("X-Forwarded-For", ratecell.ListField), ratecell.TrustedHops(hops))
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	return ratecell.Middleware(limiter, key, ratecell.PolicyName("address"))(hello)
}

func open(file, policy string) (*ratecell.Limiter, error) {
	if file == "" {
		return ratecell.New(policy)
	}
	return ratecell.Open(file, policy)
}
