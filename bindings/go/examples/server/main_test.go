package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// Two servers on one file limit together, and a third alone; clients behind a proxy are told apart.
func TestServersShareAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits")
	var urls []string
	for _, file := range []string{file, file, ""} {
		limiter, err := open(file, "2/1h")
		if err != nil {
			t.Fatal(err)
		}
		defer limiter.Close()
		server := httptest.NewServer(limited(limiter, 1))
		defer server.Close()
		urls = append(urls, server.URL)
	}
	for i, request := range []struct {
		server, status int
		client         string
	}{
		{0, 200, "192.0.2.1"}, {1, 200, "192.0.2.1"}, {0, 429, "192.0.2.1"}, {1, 429, "192.0.2.1"},
		{2, 200, "192.0.2.1"}, {0, 200, "192.0.2.2"}, {1, 429, "192.0.2.2, 192.0.2.1"},
	} {
		r, err := http.NewRequest("GET", urls[request.server], nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", request.client)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != request.status {
			t.Errorf("request %d: %s, expected %d", i, response.Status, request.status)
		}
	}
}
