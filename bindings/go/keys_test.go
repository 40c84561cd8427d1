package ratecell

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestByRemoteAddr(t *testing.T) {
	for remote, key := range map[string]string{
		"192.0.2.1:4711":                "192.0.2.1",
		"192.0.2.1":                     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80":     "2001:db8:1:2::/64",
		"[2001:db8:1:2::]:81":           "2001:db8:1:2::/64",
		"[2001:db8:1:3::]:81":           "2001:db8:1:3::/64",
		"2001:db8::1":                   "2001:db8::/64",
		"[::ffff:192.0.2.1]:80":         "192.0.2.1",
		"[::ffff:c000:201]:80":          "192.0.2.1",
		"[fe80::1%eth0]:80":             "fe80::/64",
		"[::1]":                         "::/64",
		"@":                             "unknown",
		"":                              "unknown",
		"example.com:80":                "unknown",
		"192.0.2.256:80":                "unknown",
		"192.0.2.1:80, 198.51.100.1:80": "unknown",
	} {
		if got := ByRemoteAddr()(&http.Request{RemoteAddr: remote}); got != key {
			t.Errorf("%q: %q, expected %q", remote, got, key)
		}
	}
}

func TestByForwardedFor(t *testing.T) {
	const peer = "203.0.113.9"
	for _, test := range []struct {
		hops  int
		lines []string
		key   string
	}{
		{1, []string{"192.0.2.1"}, "192.0.2.1"},
		{1, []string{"198.51.100.1, 192.0.2.1"}, "192.0.2.1"},
		{2, []string{"198.51.100.1,192.0.2.1"}, "198.51.100.1"},
		{2, []string{"198.51.100.1", "192.0.2.1"}, "198.51.100.1"},
		{3, []string{"1.1.1.1, 2.2.2.2", "3.3.3.3\t,4.4.4.4"}, "2.2.2.2"},
		{1, []string{"[2001:db8:1:2::3]:4711"}, "2001:db8:1:2::/64"},
		{1, []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		{1, []string{"192.0.2.1:4711"}, "192.0.2.1"},
		{2, []string{"192.0.2.1"}, peer},
		{1, nil, peer},
		{1, []string{""}, peer},
		{1, []string{"192.0.2.1,"}, peer},
		{1, []string{"192.0.2.1", ""}, peer},
		{1, []string{"192.0.2.1, unknown"}, peer},
		{1, []string{"_hidden"}, peer},
	} {
		r := &http.Request{RemoteAddr: peer + ":80", Header: http.Header{"X-Forwarded-For": test.lines}}
		if got := ByForwardedFor(test.hops)(r); got != test.key {
			t.Errorf("%d hops, %q: %q, expected %q", test.hops, test.lines, got, test.key)
		}
	}
}

func TestByHeader(t *testing.T) {
	r := &http.Request{Header: http.Header{"X-Api-Key": {"secret", "other"}}}
	if got := ByHeader("x-api-KEY")(r); got != "secret" {
		t.Errorf("%q", got)
	}
	if got := ByHeader("Authorization")(r); got != "" {
		t.Errorf("%q of a field that is not there", got)
	}
	r = httptest.NewRequest("GET", "http://example.org/path", nil)
	if got := ByHeader("host")(r); got != "example.org" {
		t.Errorf("the request's host is %q", got)
	}
}

// Every peer has a key, which is an address, a /64 prefix or unknown; and all addresses of a prefix the same.
func FuzzRemoteAddr(f *testing.F) {
	for _, seed := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "[::ffff:192.0.2.1]:80", "[fe80::1%eth0]:1", "@", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		key := ByRemoteAddr()(&http.Request{RemoteAddr: remote})
		if key == unknownAddr {
			return
		}
		if addr, err := netip.ParseAddr(key); err == nil {
			if !addr.Is4() {
				t.Errorf("%q: the key %q is an address of IPv6", remote, key)
			}
			return
		}
		prefix, err := netip.ParsePrefix(key)
		if err != nil || prefix.Bits() != ipv6Prefix || prefix.Addr().Is4In6() || prefix.Masked() != prefix {
			t.Fatalf("%q: the key %q is no /64: %v", remote, key, err)
		}
		other := prefix.Addr().As16()
		other[15] ^= 0x5A
		if again := ByRemoteAddr()(&http.Request{RemoteAddr: netip.AddrFrom16(other).String()}); again != key && !netip.AddrFrom16(other).Is4In6() {
			t.Errorf("%q: %q within %q has the key %q", remote, netip.AddrFrom16(other), key, again)
		}
	})
}

// What a client writes into the field before the proxies append to it changes nothing.
func FuzzForwardedFor(f *testing.F) {
	f.Add("198.51.100.7", "192.0.2.1", 1)
	f.Add("1.1.1.1, 2.2.2.2,", "[2001:db8::1]:80", 2)
	f.Add(",\t,", "unknown", 3)
	f.Fuzz(func(t *testing.T, claim, seen string, hops int) {
		if hops < 1 || hops > 8 || strings.ContainsAny(seen, ",") {
			t.Skip()
		}
		// The outermost trusted proxy appends what it saw, the others each other.
		appended := seen + strings.Repeat(", 10.0.0.1", hops-1)
		key := func(lines ...string) string {
			return ByForwardedFor(hops)(&http.Request{RemoteAddr: "203.0.113.9:80", Header: http.Header{"X-Forwarded-For": lines}})
		}
		honest := key(appended)
		if honest == "" {
			t.Error("a request without a key would not be limited")
		}
		for _, lines := range [][]string{{claim + "," + appended}, {claim, appended}, {claim, claim + " , " + appended}} {
			if got := key(lines...); got != honest {
				t.Errorf("%q: %q, without the client's claim %q", lines, got, honest)
			}
		}
	})
}
