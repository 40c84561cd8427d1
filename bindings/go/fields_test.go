package ratecell

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

var noon = time.Unix(1_795_219_200, 0)

func TestAddFields(t *testing.T) {
	limiter := newTest(t, "100/s burst=200")
	add := func(h http.Header, name string, cost uint32) {
		t.Helper()
		d := limiter.Decide(NewRequest("k").At(0).Cost(cost).WithNext())
		if err := AddFields(h, StyleDraft11, noon, Answer{Limiter: limiter, Decision: d, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	h := http.Header{}
	add(h, "", 150)
	if h.Get("RateLimit-Policy") != `"100/s burst=200";q=100;w=1;ratecell-burst=200` || h.Get("RateLimit") != `"100/s burst=200";r=50;t=1` {
		t.Errorf("%v", h)
	}
	add(h, "api", 200)
	if h.Values("RateLimit")[1] != `"api";r=50;t=1` || h.Get("Retry-After") != "2" {
		t.Errorf("%v", h)
	}
	add(h, "", 51)
	if h.Get("Retry-After") != "2" {
		t.Errorf("%v: the greater of two was 2", h["Retry-After"])
	}
	long := strings.Repeat(`a "n" `, 42)
	add(h, long, 51)
	if got, want := h.Values("RateLimit")[3], `"`+strings.ReplaceAll(long, `"`, `\"`)+`";r=50;t=1`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

// Longer than the first buffer, of as many layers as there may be.
func TestAddFieldsOfManyLayers(t *testing.T) {
	limiter := newTest(t, "1/s & 2/m & 3/h & 4/d & 5/w & 6/s & 7/m & 8/h")
	answers := make([]Answer, 64)
	for i := range answers {
		answers[i] = Answer{Limiter: limiter, Decision: limiter.Peek("k"), Name: strings.Repeat("n", 256), Partition: []byte{}}
	}
	h := http.Header{}
	if err := AddFields(h, StyleDraft11, noon, answers...); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(h.Get("RateLimit-Policy"), `pk=::`); got != 64*8 {
		t.Errorf("%d policies, expected %d", got, 64*8)
	}
	if err := AddFields(h, StyleDraft11, noon, append(answers, answers[0])...); err == nil {
		t.Error("65 answers are too many")
	}
}

func TestAddFieldsReplacesWhatIsNoList(t *testing.T) {
	limiter := newTest(t, "10/s")
	h := http.Header{"X-Ratelimit-Limit": {"7"}, "Retry-After": {"Sun, 06 Nov 1994 08:49:37 GMT"}}
	limiter.CheckAt("k", 10, 0)
	answer := Answer{Limiter: limiter, Decision: limiter.CheckAt("k", 1, 0)}
	for _, styles := range []Style{StyleX | StyleDraft03, StyleDraft06} {
		if err := AddFields(h, styles, noon, answer); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "10", "Retry-After": "1", "RateLimit-Limit": "10", "RateLimit-Remaining": "0",
	} {
		if got := strings.Join(h.Values(name), " + "); got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
	}
	h = http.Header{"Ratelimit-Limit": {"7, 7;w=60"}}
	if err := AddFields(h, StyleDraft03, noon, answer); err != nil || strings.Join(h["Ratelimit-Limit"], " + ") != "7, 7;w=60 + 10, 10;w=1" {
		t.Errorf("%v, %v", h, err)
	}
}

func TestAddFieldsOfWhatIsWrong(t *testing.T) {
	limiter, closed := newTest(t, "10/s"), newTest(t, "10/s")
	d := limiter.Peek("k")
	answer := Answer{Limiter: limiter, Decision: d}
	closed.Close()
	for name, test := range map[string]struct {
		styles Style
		answer Answer
		is     error
		says   string
	}{
		"name":       {StyleX, Answer{Limiter: limiter, Decision: d, Name: "ключ"}, nil, "printable ASCII"},
		"line":       {StyleX, Answer{Limiter: limiter, Decision: d, Name: "a\nb"}, nil, `"a\nb"`},
		"NUL":        {StyleX, Answer{Limiter: limiter, Decision: d, Name: "a\x00b"}, nil, "printable ASCII"},
		"unit":       {StyleX, Answer{Limiter: limiter, Decision: d, Unit: "tokens"}, nil, `unit "tokens"`},
		"unit's NUL": {StyleX, Answer{Limiter: limiter, Decision: d, Unit: "requests\x00"}, nil, `three units`},
		"partition":  {StyleX, Answer{Limiter: limiter, Decision: d, Partition: make([]byte, 257)}, nil, "257 bytes"},
		"layer":      {StyleX, Answer{Limiter: limiter, Decision: Decision{Outcome: Allowed, Layer: 1}}, nil, "not its limiter's"},
		"none":       {StyleX, Answer{Decision: d}, nil, "without a limiter"},
		"undecided":  {StyleX, Answer{Limiter: limiter}, ErrClosed, ""},
		"closed":     {StyleX, Answer{Limiter: closed, Decision: d}, ErrClosed, ""},
		"no style":   {0, answer, nil, "Style(0)"},
		"unknown":    {1 << 30, answer, nil, "Style(1073741824)"},
		"two":        {StyleXUnix | StyleX, answer, nil, "x|x_unix"},
	} {
		h := http.Header{}
		err := AddFields(h, test.styles, noon, answer, test.answer)
		if err == nil || len(h) > 0 || !strings.Contains(err.Error(), test.says) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, %v", name, err, h)
		}
	}
	h := http.Header{}
	if err := AddFields(h, StyleX, noon); err != nil || len(h) > 0 {
		t.Errorf("of no answers: %v, %v", err, h)
	}
	if err := AddFields(h, StyleXUnix|StyleX, noon); err == nil {
		t.Error("the styles are wrong without answers, too")
	}
}

func TestStylesHaveNames(t *testing.T) {
	for i, name := range styleNames {
		if style, err := ParseStyle(name); err != nil || style != 1<<i || style.String() != name {
			t.Errorf("%s: %v, %v", name, style, err)
		}
	}
	if styles, err := ParseStyle("draft11|x_unix"); err != nil || styles != StyleDraft11|StyleXUnix {
		t.Errorf("%v, %v", styles, err)
	}
	for _, wrong := range []string{"", "draft11|", "Draft11", "draft11|draft07", "x|github"} {
		if styles, err := ParseStyle(wrong); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%q: %v, %v", wrong, styles, err)
		}
	}
}

func TestNanosecondsSince1970(t *testing.T) {
	for _, test := range []struct {
		time time.Time
		ns   uint64
	}{
		{time.Time{}, 0},
		{time.Unix(0, 7), 7},
		{time.Unix(1<<62, 0), math.MaxUint64},
		{time.Unix(math.MaxUint64/1_000_000_000, math.MaxUint64%1_000_000_000), math.MaxUint64},
		{time.Unix(math.MaxUint64/1_000_000_000, math.MaxUint64%1_000_000_000+1), math.MaxUint64},
		{time.Unix(math.MaxUint64/1_000_000_000, 0), math.MaxUint64 - math.MaxUint64%1_000_000_000},
	} {
		if got := unixNs(test.time); got != test.ns {
			t.Errorf("%v: %d, expected %d", test.time, got, test.ns)
		}
	}
}
