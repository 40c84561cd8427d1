// Package ratecellgrpc limits the calls of a server of gRPC. It is a module of its own, so that the binding needs nothing but
// the standard library.
//
//	limit, err := ratecellgrpc.New(ratecellgrpc.Config{Limiter: limiter, Key: ratecellgrpc.ByPeer()})
//	if err != nil { … }
//	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
package ratecellgrpc

import (
	"context"
	"net/http"
	"strings"

	ratecell "github.com/ratecell/ratecell/bindings/go"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Call is what is limited: a call of a method, or a stream, which is one call however many messages it has.
type Call struct {
	// Context is the call's: its peer, its metadata.
	Context context.Context
	// Method is the full name, "/package.Service/Method".
	Method string
	// Request is the message of a unary call; nil of a stream.
	Request any
}

// Config is what calls are limited by. OnDenied makes the error by which a refused call ends.
type Config = ratecell.DeciderConfig[Call, func(Call, ratecell.Verdict) error]

// Interceptor limits calls.
type Interceptor struct {
	decider *ratecell.Decider[Call]
	denied  func(Call, ratecell.Verdict) error
}

// New makes an Interceptor. The fields of the limit are metadata of the response's header. A refused call ends as [Refusal]
// says, or by OnDenied. Permits of layers in_flight are held until the call, or the stream, has ended, also by a panic. A call
// with a Delay is held for it, and dropped if it is cancelled meanwhile.
//
// The error says which part of the config is missing, or wrong.
func New(config Config) (*Interceptor, error) {
	decider, err := ratecell.NewDecider(config)
	if err != nil {
		return nil, err
	}
	i := &Interceptor{decider: decider, denied: config.OnDenied}
	if i.denied == nil {
		i.denied = func(_ Call, v ratecell.Verdict) error { return Refusal(v).Err() }
	}
	return i, nil
}

// Unary is a [grpc.UnaryServerInterceptor].
func (i *Interceptor) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	v, err := i.decide(Call{ctx, info.FullMethod, request})
	defer v.Release()
	if err != nil {
		return nil, err
	}
	return next(ctx, request)
}

// Stream is a [grpc.StreamServerInterceptor].
func (i *Interceptor) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	v, err := i.decide(Call{stream.Context(), info.FullMethod, nil})
	defer v.Release()
	if err != nil {
		return err
	}
	return next(server, stream)
}

func (i *Interceptor) decide(call Call) (ratecell.Verdict, error) {
	fields := make(http.Header, 3)
	v := i.decider.Decide(call.Context, call, fields)
	md := make(metadata.MD, len(fields))
	for name, lines := range fields {
		md.Append(name, lines...)
	}
	// A header that was sent already, by an interceptor before this one, takes no more fields.
	_ = grpc.SetHeader(call.Context, md)
	switch {
	case v.Allowed:
		return v, nil
	case v.Gone:
		return v, status.FromContextError(call.Context.Err()).Err()
	}
	return v, i.denied(call, v)
}

// Refusal is the status of a refused call:
//
//   - RESOURCE_EXHAUSTED where the Outcome is Denied, with [errdetails.RetryInfo],
//   - INVALID_ARGUMENT where it is Never by a limiter, for the cost is above the capacity, or UnclearPath,
//   - PERMISSION_DENIED where it is Never by rules,
//   - UNAVAILABLE where it could not be decided.
func Refusal(v ratecell.Verdict) *status.Status {
	code := codes.Unavailable
	switch v.Status() {
	case http.StatusTooManyRequests:
		code = codes.ResourceExhausted
	case http.StatusForbidden:
		code = codes.PermissionDenied
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		code = codes.InvalidArgument
	}
	refusal := status.New(code, v.Text())
	after := v.RetryAfter()
	if after == 0 || after == ratecell.InfDuration {
		return refusal
	}
	detailed, err := refusal.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		return refusal
	}
	return detailed
}

// ByPeer keys calls by the address of their peer, or by what a proxy says in metadata, as [ratecell.ByClient] does with these
// options. It panics if one is wrong.
func ByPeer(options ...ratecell.ClientOption) func(Call) string {
	clients, err := ratecell.NewClients(options...)
	if err != nil {
		panic(err)
	}
	return func(c Call) string {
		address := ""
		if peer, ok := peer.FromContext(c.Context); ok && peer.Addr != nil {
			address = peer.Addr.String()
		}
		md, _ := metadata.FromIncomingContext(c.Context)
		h := make(http.Header, len(md))
		for name, values := range md {
			h[http.CanonicalHeaderKey(name)] = values
		}
		return clients.Key(address, h)
	}
}

// ByMetadata keys calls by the value of metadata, such as an API key. A call without it has no key and is not limited, and
// anyone can write any value: use it behind what has checked the value.
func ByMetadata(name string) func(Call) string {
	return func(c Call) string {
		if values := metadata.ValueFromIncomingContext(c.Context, name); len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// ByCall tells rules of a call its method, which is POST, its path, which is the name of the method, its host, its client by
// this key function, and its metadata as a header.
func ByCall(client func(Call) string) func(Call) ratecell.Attributes {
	return func(c Call) ratecell.Attributes {
		a := ratecell.Attributes{"method": "POST", "path": c.Method}
		md, _ := metadata.FromIncomingContext(c.Context)
		for name, values := range md {
			if name == ":authority" {
				name = "host"
				a["host"] = strings.Join(values, ", ")
			}
			a["header:"+name] = strings.Join(values, ", ")
		}
		if key := client(c); key != "" {
			a["client"] = key
		}
		return a
	}
}
