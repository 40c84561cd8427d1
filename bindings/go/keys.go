package ratecell

import "net/http"

// KeyFunc tells the key of a request: who is limited. An empty key is not limited.
type KeyFunc func(*http.Request) string

// ByHeader keys requests by the value of a field, such as an API key. A request without it has no key and is not
// limited, and anyone can write any value: use it behind what has checked the value, or write a key function of
// your own for the others:
//
//	apiKey, peer := ratecell.ByHeader("X-Api-Key"), ratecell.ByClient()
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
