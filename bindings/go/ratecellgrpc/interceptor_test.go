package ratecellgrpc

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	ratecell "github.com/ratecell/ratecell/bindings/go"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// serve starts a server of the health service with an interceptor, and is a client of it.
func serve(t *testing.T, config Config) healthpb.HealthClient {
	t.Helper()
	limit, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	healthpb.RegisterHealthServer(server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return healthpb.NewHealthClient(connection)
}

func limiter(t *testing.T, policy string) *ratecell.Limiter {
	t.Helper()
	limiter, err := ratecell.New(policy, ratecell.MaxKeys(1000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	return limiter
}

func check(t *testing.T, client healthpb.HealthClient, ctx context.Context, code codes.Code) (metadata.MD, *status.Status) {
	t.Helper()
	var header metadata.MD
	_, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header))
	if status.Code(err) != code {
		t.Errorf("%v: expected %v", err, code)
	}
	return header, status.Convert(err)
}

func TestACallIsLimited(t *testing.T) {
	client := serve(t, Config{Limiter: limiter(t, "1/1h"), Key: ByPeer(), Name: "address"})
	header, _ := check(t, client, context.Background(), codes.OK)
	if got := header.Get("ratelimit-policy"); len(got) != 1 || got[0] != `"address";q=1;w=3600` {
		t.Errorf("%v", header)
	}
	header, refused := check(t, client, context.Background(), codes.ResourceExhausted)
	if got := header.Get("ratelimit"); len(got) != 1 || !strings.HasPrefix(got[0], `"address";r=0;t=`) || len(header.Get("retry-after")) != 1 {
		t.Errorf("%v", header)
	}
	details := refused.Details()
	if len(details) != 1 || !strings.HasPrefix(refused.Message(), "Too many requests: retry after 3") {
		t.Fatalf("%v", refused)
	}
	delay := details[0].(*errdetails.RetryInfo).RetryDelay.AsDuration()
	if delay <= 50*time.Minute || delay > time.Hour {
		t.Errorf("retry after %v", delay)
	}
}

// next is the next message of a stream, or why there is none.
func next(t *testing.T, stream healthpb.Health_WatchClient, code codes.Code) {
	t.Helper()
	if _, err := stream.Recv(); status.Code(err) != code {
		t.Errorf("%v: expected %v", err, code)
	}
}

func TestAStreamHoldsItsPermitToItsEnd(t *testing.T) {
	limiter := limiter(t, "100/s & in_flight 1 hold=1w")
	client := serve(t, Config{Limiter: limiter, Key: func(Call) string { return "all" }})
	ctx, cancel := context.WithCancel(context.Background())
	watch := func() healthpb.Health_WatchClient {
		stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	first := watch()
	next(t, first, codes.OK)
	next(t, watch(), codes.ResourceExhausted)
	check(t, client, context.Background(), codes.ResourceExhausted)
	cancel()
	next(t, first, codes.Canceled)
	for limiter.Peek("all").Remaining == 0 { // until the server has seen it
		time.Sleep(time.Millisecond)
	}
	check(t, client, context.Background(), codes.OK)
	check(t, client, context.Background(), codes.OK)
}

func TestMetadataIsAKey(t *testing.T) {
	client := serve(t, Config{
		Limiter: limiter(t, "1/1h"), Key: ByMetadata("x-api-key"),
		OnDenied: func(c Call, v ratecell.Verdict) error {
			if _, ok := c.Request.(*healthpb.HealthCheckRequest); !ok {
				t.Errorf("%v", c.Request)
			}
			return status.Error(codes.Aborted, c.Method+" "+v.Outcome.String())
		},
	})
	key := metadata.AppendToOutgoingContext(context.Background(), "X-Api-Key", "one")
	check(t, client, key, codes.OK)
	if _, refused := check(t, client, key, codes.Aborted); refused.Message() != "/grpc.health.v1.Health/Check denied" {
		t.Error(refused)
	}
	for i := 0; i < 3; i++ {
		check(t, client, context.Background(), codes.OK)
	}
}

func TestRulesLimitMethods(t *testing.T) {
	rules, err := ratecell.NewRules(`ratecell_rules = 1
[[rule]]
name = "check"
match = { method = "POST", path = "/grpc.health.v1.Health/Check" }
key = ["client"]
limit = "1/h"
[[rule]]
name = "guests"
match = { "header:x-user" = "guest" }
key = []
limit = "blocked"
`)
	if err != nil {
		t.Fatal(err)
	}
	defer rules.Close()
	client := serve(t, Config{Rules: rules, Attributes: ByCall(ByPeer())})
	check(t, client, context.Background(), codes.OK)
	check(t, client, context.Background(), codes.ResourceExhausted)
	guest := metadata.AppendToOutgoingContext(context.Background(), "x-user", "guest")
	if _, refused := check(t, client, guest, codes.PermissionDenied); len(refused.Details()) != 0 {
		t.Error(refused)
	}
	stream, err := client.Watch(context.Background(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	next(t, stream, codes.OK)
}

func TestFaults(t *testing.T) {
	closed := limiter(t, "1/h")
	closed.Close()
	counts := new(ratecell.Counts)
	check(t, serve(t, Config{Limiter: closed, Key: ByPeer(), Counts: counts}), context.Background(), codes.OK)
	check(t, serve(t, Config{Limiter: closed, Key: ByPeer(), Counts: counts, FailClosed: true}), context.Background(), codes.Unavailable)
	if counts.Faults() != 2 || counts.Refused() != 1 {
		t.Errorf("%d faults, %d refused", counts.Faults(), counts.Refused())
	}
	costly := serve(t, Config{Limiter: limiter(t, "1/h"), Key: ByPeer(), Cost: func(Call) uint32 { return 2 }})
	check(t, costly, context.Background(), codes.InvalidArgument)
	if _, err := New(Config{Limiter: closed}); err == nil || !strings.Contains(err.Error(), "key function is nil") {
		t.Errorf("%v", err)
	}
}

func ExampleNew() {
	limiter, err := ratecell.New("100/s burst=200")
	if err != nil {
		panic(err)
	}
	limit, err := New(Config{Limiter: limiter, Key: ByPeer()})
	if err != nil {
		panic(err)
	}
	grpc.NewServer(grpc.ChainUnaryInterceptor(limit.Unary), grpc.ChainStreamInterceptor(limit.Stream))
}
