//go:build cgo

package ratecell

import (
	"net/http"
	"strings"
)

// AttributesFunc tells what rules know of a request. Of nil all attributes are absent.
type AttributesFunc func(*http.Request) Attributes

// ByRequest tells of a request its method, its path as it was sent, its host, its client by this key function, and its
// header: a field of several lines is one value, joined by ", ". An empty key is a client that is absent. Give the key function
// ClientWidth(32, 128): rules have widths of their own, such as "client/32/64", and a condition on one address of IPv6 never
// holds of a network. What the program knows besides is added to what it returns:
//
//	request := ratecell.ByRequest(ratecell.ByClient(ratecell.ClientWidth(32, 128)))
//	attributes := func(r *http.Request) ratecell.Attributes {
//		a := request(r)
//		if user := userOf(r); user != "" {
//			a["user"] = user
//		}
//		return a
//	}
//
// The header is what the client writes. ByRequest panics if the key function is nil.
func ByRequest(client KeyFunc) AttributesFunc {
	if client == nil {
		panic("ratecell: ByRequest: the key function is nil")
	}
	return func(r *http.Request) Attributes {
		a := make(Attributes, len(r.Header)+5)
		for name, lines := range r.Header {
			a["header:"+strings.ToLower(name)] = strings.Join(lines, ", ")
		}
		a["method"], a["path"] = r.Method, sentPath(r)
		// net/http keeps it beside the header.
		if r.Host != "" {
			a["host"], a["header:host"] = r.Host, r.Host
		}
		if key := client(r); key != "" {
			a["client"] = key
		}
		return a
	}
}

// sentPath is the path of a request's target, still encoded; a handler that took a prefix away has changed URL, and not
// RequestURI.
func sentPath(r *http.Request) string {
	if path, ok := TargetPath(r.RequestURI); ok {
		return path
	}
	return r.URL.EscapedPath()
}

// TargetPath is the path of a request's target as it was sent, still encoded and with its query, as rules take it: of an
// absolute target what follows the authority. It is for [AttributesFunc] of other servers than net/http's. ok is false of a
// target without a path.
func TargetPath(target string) (path string, ok bool) {
	scheme, rest, isAbsolute := strings.Cut(target, "://")
	switch {
	case strings.HasPrefix(target, "/") || target == "*":
	case isAbsolute && !strings.ContainsAny(scheme, "/?#"):
		if target = strings.TrimLeftFunc(rest, isOfAuthority); !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
	default:
		return "", false
	}
	path, query, hasQuery := strings.Cut(target, "?")
	// To net/http a # is a byte of the path.
	path = strings.ReplaceAll(path, "#", "%23")
	if hasQuery {
		path += "?" + query
	}
	return path, true
}

func isOfAuthority(char rune) bool {
	return !strings.ContainsRune("/?", char)
}

// OnRulesRefused sets what answers a request that rules refuse, as [OnRefused] does for a limiter. OnRulesRefused panics if
// the function is nil.
func OnRulesRefused(refused func(http.ResponseWriter, *http.Request, RulesDecision)) MiddlewareOption {
	if refused == nil {
		panic("ratecell: OnRulesRefused(nil): expected a function that answers a refused request")
	}
	return func(m *middleware) { m.rulesRefused = refused }
}

// RulesMiddleware limits the requests that a handler gets by rules, as [Middleware] does by a limiter: the fields of
// responses name the rules that limit the request, and there are none where no rule does.
//
//	client := ratecell.ByClient(ratecell.ClientWidth(32, 128))
//	http.Handle("/", ratecell.RulesMiddleware(rules, ratecell.ByRequest(client))(handler))
//
// Of rules that are [Reserving] a request has its permits of layers in_flight until the handler returns, also by a panic.
//
// It has the options [Styles], [OnRulesRefused], [FailClosed], [OnFault] and [CountTo]. A request is held for its Delay, and dropped if its client goes
// meanwhile. It panics, as http.Handle does, if the rules, the function or an option is nil, or an option has no use here;
// what it returns panics if the handler is nil.
func RulesMiddleware(rules *Rules, attributes AttributesFunc, options ...MiddlewareOption) func(http.Handler) http.Handler {
	if rules == nil {
		panic("ratecell: RulesMiddleware: the rules are nil")
	}
	if attributes == nil {
		panic("ratecell: RulesMiddleware: the function of attributes is nil")
	}
	m := &middleware{}
	m.apply("RulesMiddleware", options)
	if m.config.Name != "" || m.config.Unit != "" || m.config.Cost != nil || m.refused != nil {
		panic("ratecell: RulesMiddleware: PolicyName, PolicyUnit, CostFunc, OnRefused: expected OnRulesRefused, Styles, FailClosed, OnFault and CountTo alone, for names and costs are the file's")
	}
	m.config.Rules, m.config.Attributes = rules, attributes
	return m.around("RulesMiddleware")
}
