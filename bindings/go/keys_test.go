package ratecell

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

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
