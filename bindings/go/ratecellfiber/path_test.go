package ratecellfiber

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v3"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// fasthttp ends a path at a #, where net/http does not.
func TestAFragmentIsNoWayAroundARule(t *testing.T) {
	rules, err := ratecell.NewRules("ratecell_rules = 1\n[[rule]]\nname = 'login'\nmatch.path = '/login'\nkey = []\nlimit = '1/h'\n")
	if err != nil {
		t.Fatal(err)
	}
	defer rules.Close()
	limit, err := New(Config{Rules: rules, Attributes: ByRequest(ByClient(ratecell.ClientWidth(32, 128)))})
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New()
	app.Use(limit)
	app.Get("/login", func(c fiber.Ctx) error { return c.SendString("in") })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	defer func() { _ = app.Shutdown() }()
	for i, target := range []string{"/login", "/login#x", "/login#?x", "/login?x#y", "http://a/login#x", "//a/login", "a//b/login", "login"} {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", target)
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		connection.Close()
		if i == 0 && response.StatusCode != 200 || i > 0 && response.StatusCode == 200 {
			t.Errorf("%s: %d", target, response.StatusCode)
		}
	}
}
