package ratecell

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// KeyFunc tells the key of a request: who is limited. An empty key is not limited.
type KeyFunc func(*http.Request) string

// What the key of a request is, which has no address: all such requests have one limit together, since none of
// them may go without.
const unknownAddr = "unknown"

// The prefix of an IPv6 address by which a client is known: the least that one is given, who may take any
// address in it.
const ipv6Prefix = 64

// ByRemoteAddr keys requests by the address of the peer that the connection is from, such as "192.0.2.1". An
// IPv6 address counts by its /64 prefix, such as "2001:db8::/64", of which one client may take any address; an
// IPv4-mapped one as the IPv4 address that it is. A peer without an address, on a Unix socket, is "unknown".
//
// Behind a proxy that address is the proxy's: see [ByForwardedFor].
func ByRemoteAddr() KeyFunc {
	return remoteKey
}

// ByForwardedFor keys requests by the address that the outermost of so many trusted proxies saw, in the same
// form as [ByRemoteAddr]. Each proxy appends the address of its peer to X-Forwarded-For, so the client's is that
// many from the right; what stands to the left of it is the client's own claim, and is not looked at. Nobody but
// the proxies may be able to connect to the server: who can, writes the whole field.
//
// A request that has fewer addresses, or no address there, did not come through all proxies: its key is that
// of its peer. ByForwardedFor panics if trustedHops is below 1.
func ByForwardedFor(trustedHops int) KeyFunc {
	if trustedHops < 1 {
		panic(fmt.Sprintf("ratecell: ByForwardedFor(%d): expected the number of trusted proxies, 1 or more", trustedHops))
	}
	return func(r *http.Request) string {
		if addr, ok := parseAddr(fromRight(r.Header["X-Forwarded-For"], trustedHops)); ok {
			return addrKey(addr)
		}
		return remoteKey(r)
	}
}

// ByHeader keys requests by the value of a field, such as an API key. A request without it has no key and is not
// limited, and anyone can write any value: use it behind what has checked the value, or write a key function of
// your own for the others:
//
//	apiKey, peer := ratecell.ByHeader("X-Api-Key"), ratecell.ByRemoteAddr()
//	key := func(r *http.Request) string {
//		if k := apiKey(r); k != "" {
//			return "key " + k
//		}
//		return peer(r)
//	}
//
// The field Host, which net/http keeps beside the others, is the request's Host. ByHeader panics if the name is
// empty.
func ByHeader(name string) KeyFunc {
	if name == "" {
		panic(`ratecell: ByHeader(""): expected the name of a field`)
	}
	name = http.CanonicalHeaderKey(name)
	if name == "Host" {
		return func(r *http.Request) string { return r.Host }
	}
	return func(r *http.Request) string { return r.Header.Get(name) }
}

func remoteKey(r *http.Request) string {
	// The form that net/http gives it.
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return addrKey(peer.Addr())
	}
	if addr, ok := parseAddr(r.RemoteAddr); ok {
		return addrKey(addr)
	}
	return unknownAddr
}

// fromRight is the entry that is n from the right in all lines of a list, from 1; "" if there are fewer.
func fromRight(lines []string, n int) string {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			entry := rest
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, entry = rest[:comma], rest[comma+1:]
			} else {
				more = false
			}
			if n--; n == 0 {
				return strings.Trim(entry, " \t")
			}
		}
	}
	return ""
}

// parseAddr reads an address with or without a port, in brackets or not.
func parseAddr(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr, true
	}
	host, _, err := net.SplitHostPort(s)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

func addrKey(addr netip.Addr) string {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.WithZone("").Prefix(ipv6Prefix)
	if err != nil {
		return unknownAddr
	}
	return prefix.String()
}
