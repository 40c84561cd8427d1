// A session of go-redis with a server: `go run . HOST:PORT`, whose policy api is 5/1d.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

func expect(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		log.Fatalf("%s: %v, expected %v", what, got, want)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func session(ctx context.Context, address string, protocol int) {
	client := redis.NewClient(&redis.Options{Addr: address, Protocol: protocol, ClientName: "session"})
	defer client.Close()
	key := fmt.Sprintf("go:%d", protocol)
	expect("ping", must(client.Ping(ctx).Result()), "PONG")
	throttled := must(client.Do(ctx, "CL.THROTTLE", key, 15, 30, 60).Int64Slice())
	expect("CL.THROTTLE", throttled, []int64{0, 16, 15, -1, 2})

	pipeline := client.Pipeline()
	checks := make([]*redis.Cmd, 20)
	for i := range checks {
		checks[i] = pipeline.Do(ctx, "RATECELL.CHECK", "api", key)
	}
	must(pipeline.Exec(ctx))
	for i, check := range checks {
		outcome := must(check.Int64Slice())[0]
		expect(fmt.Sprintf("check %d of a pipeline", i), outcome == 0, i < 5)
	}
	err := client.Do(ctx, "RATECELL.CHECK", "nowhere", key).Err()
	if _, isReply := err.(redis.Error); !isReply {
		log.Fatalf("a policy that is none: %v, expected an error of the server", err)
	}

	var allowed atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if must(client.Do(ctx, "RATECELL.CHECK", "api", key+":all").Int64Slice())[0] == 0 {
				allowed.Add(1)
			}
		})
	}
	group.Wait()
	expect("allowed of 50 at once", allowed.Load(), int64(5))
}

func main() {
	for _, protocol := range []int{2, 3} {
		session(context.Background(), os.Args[1], protocol)
	}
	fmt.Printf("go-redis %s: passed\n", redis.Version())
}
