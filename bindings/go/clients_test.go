package ratecell

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestByClient(t *testing.T) {
	for remote, key := range map[string]string{
		"192.0.2.1:4711":            "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1",
		"[fe80::1%eth0]:80":         "fe80::/64",
		"@":                         "unix",
		"":                          "unix",
		"/run/app.sock":             "unix",
		"example.com:80":            "unknown",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		if got := ByClient()(r); got != key {
			t.Errorf("%q: %q, expected %q", remote, got, key)
		}
	}
}

func TestClientsBehindProxies(t *testing.T) {
	header := http.Header{}
	header.Add("x-forwarded-for", "6.6.6.6, 2001:db8:1:2::3")
	header.Add("X-Forwarded-For", "\t10.0.0.1 ")
	header.Add("Forwarded", `for=6.6.6.6, for="203.0.113.7:80"`)
	header.Add("X-Real-Ip", "203.0.113.8")
	for _, test := range []struct {
		key     string
		options []ClientOption
	}{
		{"10.0.0.1", []ClientOption{ClientField("X-Forwarded-For", ListField), TrustedHops(1)}},
		{"2001:db8:1:2::/64", []ClientOption{ClientField("x-forwarded-for", ListField), TrustedHops(2)}},
		{"2001:db8::/32", []ClientOption{ClientField("x-forwarded-for", ListField), TrustedHops(2), ClientWidth(32, 32)}},
		{"2001:db8:1:2::/64", []ClientOption{ClientField("X-Forwarded-For", ListField), TrustedNetworks("10.0.0.0/8", "unix")}},
		{"10.0.0.9", []ClientOption{ClientField("X-Forwarded-For", ListField), TrustedNetworks("unix")}},
		{"203.0.113.7", []ClientOption{ClientField("Forwarded", ForwardedField), TrustedHops(1)}},
		{"203.0.113.8", []ClientOption{ClientField("X-Real-IP", SingleField), TrustedHops(1)}},
		{"203.0.113.0/24", []ClientOption{ClientField("X-Real-IP", SingleField), TrustedHops(1), ClientWidth(24, 64)}},
		{"10.0.0.9", []ClientOption{ClientField("X-None", SingleField), TrustedHops(1)}},
	} {
		clients, err := NewClients(test.options...)
		if err != nil {
			t.Fatal(err)
		}
		if got := clients.Key("10.0.0.9:80", header); got != test.key {
			t.Errorf("%q, expected %q", got, test.key)
		}
	}
}

// However long the lines are, what is looked at is their end, and two lines of a single address are never one.
func TestLinesAreJoined(t *testing.T) {
	list := ByClient(ClientField("X", ListField), TrustedNetworks("10.0.0.0/8"))
	single := ByClient(ClientField("X", SingleField), TrustedHops(1))
	long := strings.Repeat(" ", 20_000)
	elements := strings.Repeat("10.0.0.2,", 63) + "10.0.0.3"
	for _, test := range []struct {
		by    KeyFunc
		lines []string
		key   string
	}{
		{list, []string{"6.6.6.6", "192.0.2.1" + long, long + "10.0.0.2"}, "192.0.2.1"},
		{list, []string{"192.0.2.1", elements}, "10.0.0.2"},
		{list, []string{"192.0.2.1", strings.Repeat("x", 20_000)}, "10.0.0.1"},
		{single, []string{"192.0.2.1", "192.0.2.2" + long}, "10.0.0.1"},
		{single, []string{"", ""}, "10.0.0.1"},
		{single, []string{long + "192.0.2.2"}, "192.0.2.2"},
	} {
		r := &http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{"X": test.lines}}
		if got := test.by(r); got != test.key {
			t.Errorf("%.60q: %q, expected %q", test.lines, got, test.key)
		}
	}
}

func TestClientsThatCannotBe(t *testing.T) {
	field := ClientField("X", ListField)
	for want, options := range map[string][]ClientOption{
		"bad_width: the width of IPv4 is 0: expected 8 to 32":      {ClientWidth(0, 64)},
		"bad_width: the width of IPv6 is -1: expected 32 to 128":   {ClientWidth(32, -1)},
		"bad_field: the field is `X Y`: expected a token":          {ClientField("X Y", ListField), TrustedHops(1)},
		"bad_field: the field is ``: expected a token":             {TrustedHops(1)},
		"bad_field: the kind is 7":                                 {ClientField("X", 7), TrustedHops(1)},
		"bad_trust: neither":                                       {field},
		"bad_trust: both":                                          {field, TrustedHops(1), TrustedNetworks("::1")},
		"bad_hops: 0 hops of a list field: expected 1 to 16":       {field, TrustedHops(0)},
		"bad_hops: 17 hops":                                        {field, TrustedHops(17)},
		"bad_hops: 9223372036854775807 hops":                       {field, TrustedHops(math.MaxInt)},
		"bad_hops: 2 hops of a single field: expected 1 to 1":      {ClientField("X", SingleField), TrustedHops(2)},
		"bad_network: none":                                        {field, TrustedNetworks()},
		"bad_network: the network `10.0.0.1/8` has bits beyond it": {field, TrustedNetworks("::1", "10.0.0.1/8")},
	} {
		clients, err := NewClients(options...)
		refused, is := err.(*Error)
		if !is || clients != nil || refused.Status != StatusConfig || !strings.HasPrefix(refused.Text, want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
	for _, option := range []ClientOption{ClientField("a\x00b", ListField), TrustedNetworks("::1\x00"), nil} {
		if _, err := NewClients(option); err == nil {
			t.Error("no error")
		}
	}
}

// What a row of the vectors of client keys, or a line between them, says.
type clientLine struct {
	Kind    string
	Section string
	Width   struct{ V4, V6 int }
	Trust   *struct {
		Field    string
		Kind     string
		Hops     *int
		Networks *[]string
	}
	Error *string
}

func (line *clientLine) clients() (*Clients, error) {
	options := []ClientOption{ClientWidth(line.Width.V4, line.Width.V6)}
	if trust := line.Trust; trust != nil {
		kinds := map[string]FieldKind{"list": ListField, "forwarded": ForwardedField, "single": SingleField}
		kind, known := kinds[trust.Kind]
		if !known {
			kind = -1
		}
		options = append(options, ClientField(bytesIn(trust.Field), kind))
		if trust.Hops != nil {
			options = append(options, TrustedHops(*trust.Hops))
		}
		if trust.Networks != nil {
			options = append(options, TrustedNetworks(*trust.Networks...))
		}
	}
	return NewClients(options...)
}

// The published keys, which vectors/edges/client_keys.md defines: every row through this binding.
func TestClientKeyVectors(t *testing.T) {
	const dir = "../../vectors/edges"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s has no vectors: they are in ratecell's own repository", dir)
	}
	r := &replay{t: t}
	for _, file := range [][2]string{
		{"client_keys", "client_keys"},
		{"client_keys_addresses", "client_keys_addresses"},
		{"client_keys_construct", "client_keys_construct"},
		{"rfc5952", "client_keys_addresses"},
		{"rfc7239", "client_keys"},
	} {
		r.clientKeys(filepath.Join(dir, file[0]+".jsonl"), file[1])
	}
	t.Logf("client keys: %d passed, %d failed", r.passed, r.failed)
	if r.failed > 0 || r.passed < 10_000 {
		t.Fail()
	}
}

func (r *replay) clientKeys(path, kind string) {
	var section *Clients
	r.lines(path, func(number int, line []byte) {
		if line[0] == '[' {
			if kind == "client_keys" {
				r.client(section, line)
			} else {
				r.address(line)
			}
			return
		}
		var said clientLine
		if err := json.Unmarshal(line, &said); err != nil {
			r.t.Fatalf("%s: %v", r.at, err)
		}
		switch {
		case number == 1:
			if said.Kind != kind {
				r.t.Fatalf("%s: not a file of vectors of %s", r.at, kind)
			}
		case said.Section != "":
			var err error
			if section, err = said.clients(); err != nil {
				r.t.Fatalf("%s: %v", r.at, err)
			}
		default:
			_, err := said.clients()
			if said.Error == nil {
				r.stated(err == nil, line, err)
				return
			}
			refused, is := err.(*Error)
			r.stated(is && strings.HasPrefix(refused.Text, *said.Error+": "), line, err)
		}
	})
}

// client is a row: a peer, its lines, the key.
func (r *replay) client(clients *Clients, line []byte) {
	var peer, want, end string
	var fields [][2]string
	if err := json.Unmarshal(line, &[]any{&peer, &fields, &want, &end}); err != nil || clients == nil {
		r.t.Fatalf("%s: not a row of a section: %v", r.at, err)
	}
	header := http.Header{}
	for _, field := range fields {
		header.Add(bytesIn(field[0]), bytesIn(field[1]))
	}
	got := clients.Key(bytesIn(peer), header)
	r.stated(got == want, line, got)
}

// address is a text, and its keys with 128 and with 64 bits of IPv6; null of what is no address.
func (r *replay) address(line []byte) {
	var address string
	var wants [2]*string
	if err := json.Unmarshal(line, &[]any{&address, &wants[0], &wants[1]}); err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
	for i, width := range []int{128, 64} {
		clients, err := NewClients(ClientWidth(32, width))
		if err != nil {
			r.t.Fatal(err)
		}
		got := clients.Key(bytesIn(address), nil)
		if holds := got == "unix" || got == "unknown"; wants[i] == nil && holds || wants[i] != nil && got == *wants[i] {
			continue
		}
		r.stated(false, line, got)
		return
	}
	r.stated(true, line, nil)
}

// bytesIn is a text of the vectors: a character is one byte, and a text with others is taken as UTF-8.
func bytesIn(text string) string {
	bytes := make([]byte, 0, len(text))
	for _, character := range text {
		if character > 0xFF {
			return text
		}
		bytes = append(bytes, byte(character))
	}
	return string(bytes)
}

// Every peer has a key, which is an address, a /64 prefix, unix or unknown; and all addresses of a prefix the same.
func FuzzClientPeer(f *testing.F) {
	for _, seed := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "[::ffff:192.0.2.1]:80", "[fe80::1%eth0]:1", "@", ""} {
		f.Add(seed)
	}
	by := ByClient()
	f.Fuzz(func(t *testing.T, remote string) {
		key := by(&http.Request{RemoteAddr: remote})
		if key == "unix" || key == "unknown" {
			return
		}
		if addr, err := netip.ParseAddr(key); err == nil {
			if !addr.Is4() {
				t.Errorf("%q: the key %q is an address of IPv6", remote, key)
			}
			return
		}
		prefix, err := netip.ParsePrefix(key)
		if err != nil || prefix.Bits() != 64 || prefix.Masked() != prefix {
			t.Fatalf("%q: the key %q is no /64: %v", remote, key, err)
		}
		other := prefix.Addr().As16()
		other[15] ^= 0x5A
		again := by(&http.Request{RemoteAddr: netip.AddrFrom16(other).String()})
		if again != key && !netip.AddrFrom16(other).Is4In6() && !netip.MustParsePrefix("64:ff9b::/96").Contains(netip.AddrFrom16(other)) {
			t.Errorf("%q: %q within %q has the key %q", remote, netip.AddrFrom16(other), key, again)
		}
	})
}

// What a client writes into the field before the proxies append to it changes nothing.
func FuzzClientClaim(f *testing.F) {
	f.Add("198.51.100.7", "192.0.2.1", 1)
	f.Add("1.1.1.1, 2.2.2.2,", "[2001:db8::1]:80", 2)
	f.Add(",\t,", "2001:db8::", 3)
	f.Fuzz(func(t *testing.T, claim, seen string, hops int) {
		if hops < 1 || hops > 8 || ByClient()(&http.Request{RemoteAddr: seen}) == "unknown" || strings.Trim(seen, " \t@/") == "" || seen[0] == '@' || seen[0] == '/' || strings.HasPrefix(seen, "unix:") {
			t.Skip()
		}
		by := ByClient(ClientField("X-Forwarded-For", ListField), TrustedHops(hops))
		// The outermost trusted proxy appends what it saw, the others each other.
		appended := seen + strings.Repeat(", 10.0.0.1", hops-1)
		key := func(lines ...string) string {
			return by(&http.Request{RemoteAddr: "203.0.113.9:80", Header: http.Header{"X-Forwarded-For": lines}})
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

func BenchmarkClientKey(b *testing.B) {
	header := http.Header{"X-Forwarded-For": {"6.6.6.6, 203.0.113.7"}}
	for name, options := range map[string][]ClientOption{
		"peer":  nil,
		"proxy": {ClientField("X-Forwarded-For", ListField), TrustedHops(1)},
	} {
		b.Run(name, func(b *testing.B) {
			by, r := ByClient(options...), &http.Request{RemoteAddr: "10.0.0.9:4711", Header: header}
			for i := 0; i < b.N; i++ {
				by(r)
			}
		})
	}
}
