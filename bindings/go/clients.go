package ratecell

/*
#include "library.h"
#include <stdlib.h>

// As a limiter is: C's own memory, and so a number.
typedef uintptr_t go_clients;

// The key of a client whose field has the lines of `value`, or none where that is NULL.
static int32_t go_client_key(go_clients clients, const char *peer, size_t peer_len, const char *field, size_t field_len,
                             const char *value, size_t value_len, char *buffer) {
    ratecell_line line = { field, field_len, value, value_len };
    return ratecell_client_key((const ratecell_clients *)clients, peer, peer_len, &line, value_len > 0, buffer,
                               RATECELL_CLIENT_KEY_SIZE);
}
*/
import "C"

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// unknownClient is the key where there is no other: no peer may go without a limit.
const unknownClient = "unknown"

// mostLooked is more of a field than any key depends on, from its end: 65 elements, each of 256 bytes and a comma.
const mostLooked = 65 * 257

// FieldKind is how a field names addresses.
type FieldKind int

const (
	// ListField: addresses separated by commas, as X-Forwarded-For has them; each proxy adds one at the end.
	ListField FieldKind = C.RATECELL_CLIENT_LIST
	// ForwardedField: Forwarded, RFC 7239; as a list, each address the "for" of its element.
	ForwardedField FieldKind = C.RATECELL_CLIENT_FORWARDED
	// SingleField: one address, which the proxy overwrites, as X-Real-IP and CF-Connecting-IP have it.
	SingleField FieldKind = C.RATECELL_CLIENT_SINGLE
)

// ClientOption is one setting of [ByClient] and [NewClients].
type ClientOption func(*clientConfig)

type clientConfig struct {
	width    *[2]int
	field    *string
	kind     FieldKind
	hops     *int
	networks []string
}

// ClientField sets the field in which proxies name the client, such as "X-Forwarded-For". It needs [TrustedHops] or
// [TrustedNetworks].
func ClientField(name string, kind FieldKind) ClientOption {
	return func(c *clientConfig) { c.field, c.kind = &name, kind }
}

// TrustedHops sets how many proxies of one's own stand before the server, 1 to 16; 1 for a [SingleField]. It is right
// only if every request passes every one of them: a client that can skip one chooses its own key.
func TrustedHops(n int) ClientOption {
	return func(c *clientConfig) { c.hops = &n }
}

// TrustedNetworks sets the networks that one's own proxies are in, 1 to 256: each is an address, such as "127.0.0.1",
// or an address and a length, such as "10.0.0.0/8", or "unix" for all Unix sockets.
func TrustedNetworks(networks ...string) ClientOption {
	return func(c *clientConfig) { c.networks = append([]string{}, networks...) }
}

// ClientWidth sets how many bits of an address are the client: 8 to 32 of IPv4, 32 to 128 of IPv6. Without it they are
// 32 and 64, since a client has a whole /64 of IPv6 and may take any address in it.
func ClientWidth(v4, v6 int) ClientOption {
	return func(c *clientConfig) { c.width = &[2]int{v4, v6} }
}

// Clients knows the clients of requests: one key for each, the same text in every language and program that limits
// by ratecell. [NewClients] makes one; a copy of it is as good. Any number of goroutines may use it at once.
//
// A key is an IPv4 address ("203.0.113.7"), a network of IPv6 ("2001:db8:1:2::/64"), "unix" for all peers on Unix
// sockets, or "unknown" for all whose address cannot be read. There is always a key, of at most 43 characters, and it
// is never text that a client has written.
type Clients struct {
	native *nativeClients // nil: none, and no client is known
	field  string         // in its canonical form; "" where nothing is trusted
}

// nativeClients is the clients of the C library. They are freed as a zone is: see nativeZone.
type nativeClients struct {
	clients *C.ratecell_clients
}

// NewClients makes Clients. Without options the peer of the connection is the client. The error is an [*Error] with
// [StatusConfig]; its Text begins with bad_width, bad_field, bad_trust, bad_hops or bad_network, and says what was
// expected.
func NewClients(options ...ClientOption) (*Clients, error) {
	var config clientConfig
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("ratecell: client option %d of %d is nil: expected one such as TrustedHops(1)", i+1, len(options))
		}
		option(&config)
	}
	return config.clients()
}

func (c *clientConfig) clients() (*Clients, error) {
	var why [256]C.char
	raw := (*C.ratecell_clients_config)(C.calloc(1, C.sizeof_ratecell_clients_config))
	defer C.free(unsafe.Pointer(raw))
	raw.size = C.sizeof_ratecell_clients_config
	raw.kind = C.int32_t(c.kind)
	if c.width != nil {
		raw.v4_width, raw.v6_width = given(c.width[0]), given(c.width[1])
	}
	if c.hops != nil {
		raw.hops = given(*c.hops)
	}
	clients := &Clients{native: new(nativeClients)}
	if c.field != nil {
		if err := text("field's name", *c.field); err != nil {
			return nil, err
		}
		raw.field = C.CString(*c.field)
		defer C.free(unsafe.Pointer(raw.field))
		clients.field = http.CanonicalHeaderKey(*c.field)
	}
	if c.networks != nil {
		size := C.size_t(unsafe.Sizeof(raw.field))
		networks := (**C.char)(C.calloc(C.size_t(len(c.networks)+1), size))
		defer C.free(unsafe.Pointer(networks))
		for i, network := range c.networks {
			if err := text("network", network); err != nil {
				return nil, err
			}
			place := (**C.char)(unsafe.Add(unsafe.Pointer(networks), uintptr(i)*uintptr(size)))
			*place = C.CString(network)
			defer C.free(unsafe.Pointer(*place))
		}
		raw.networks, raw.n_networks = networks, C.size_t(len(c.networks))
	}
	raw.why = (*C.char)(C.calloc(1, C.size_t(len(why))))
	raw.why_len = C.size_t(len(why))
	defer C.free(unsafe.Pointer(raw.why))
	if status := C.ratecell_clients_new(raw, &clients.native.clients); status < 0 {
		err := statusError(status)
		if why := C.GoString(raw.why); why != "" {
			err.Text = c.worded(why)
		}
		return nil, err
	}
	runtime.SetFinalizer(clients.native, func(n *nativeClients) { C.ratecell_clients_free(n.clients) })
	return clients, nil
}

// given is a number for C, where 0 is one that is not given. What C cannot hold is out of every range.
func given(n int) C.uint32_t {
	if n < 1 || uint64(n) > math.MaxUint32 {
		return math.MaxUint32
	}
	return C.uint32_t(n)
}

// worded is the sentence about a number out of range, with the number that was given.
func (c *clientConfig) worded(why string) string {
	number := 0
	switch {
	case strings.HasPrefix(why, "bad_hops: ") && c.hops != nil:
		number = *c.hops
	case strings.HasPrefix(why, "bad_width: the width of IPv4 ") && c.width != nil:
		number = c.width[0]
	case strings.HasPrefix(why, "bad_width: ") && c.width != nil:
		number = c.width[1]
	}
	return strings.Replace(why, strconv.FormatUint(math.MaxUint32, 10), strconv.Itoa(number), 1)
}

// Key returns the key of the client of a request that a peer has sent with this header. The peer is as
// [http.Request.RemoteAddr] has it: an address, with a port or without, or of a Unix socket "", "@" or its path.
func (c *Clients) Key(peer string, header http.Header) string {
	n := c.native
	if n == nil {
		return unknownClient
	}
	var key [C.RATECELL_CLIENT_KEY_SIZE]byte
	value := ""
	if c.field != "" {
		value = joined(header[c.field])
	}
	length := C.go_client_key(C.go_clients(uintptr(unsafe.Pointer(n.clients))), bytesOf(peer), C.size_t(len(peer)),
		bytesOf(c.field), C.size_t(len(c.field)), bytesOf(value), C.size_t(len(value)),
		(*C.char)(hidden(unsafe.Pointer(&key))))
	runtime.KeepAlive(n)
	if length < 0 {
		return unknownClient
	}
	return string(key[:length])
}

// KeyOf returns the key of the client of a request: a [KeyFunc].
func (c *Clients) KeyOf(r *http.Request) string {
	return c.Key(r.RemoteAddr, r.Header)
}

// joined is the lines of a field as one, which means the same; of very many, those at the end.
func joined(lines []string) string {
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return lines[0]
	}
	trimmed := make([]string, len(lines))
	first := len(lines)
	for length := 0; first > 0 && length <= mostLooked; length++ {
		first--
		trimmed[first] = strings.Trim(lines[first], " \t")
		length += len(trimmed[first])
	}
	return strings.Join(trimmed[first:], ",")
}

// ByClient keys requests by their client's address, as [Clients] knows it: "203.0.113.7", "2001:db8:1:2::/64". Without
// options that is the peer of the connection; behind proxies it would be the proxy's, so say which field names the
// client, and whom to believe:
//
//	ratecell.ByClient(ratecell.ClientField("X-Forwarded-For", ratecell.ListField), ratecell.TrustedHops(1))
//
// All programs that share a file and are configured alike have the same key for a client: nginx by $ratecell_client,
// Python by ratecell.client_key. ByClient panics if an option is wrong.
func ByClient(options ...ClientOption) KeyFunc {
	clients, err := NewClients(options...)
	if err != nil {
		panic(err)
	}
	return clients.KeyOf
}
