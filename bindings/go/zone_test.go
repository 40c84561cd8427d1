package ratecell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const zonePolicy = "calendar_window 3/day tz=caller"

const hourNs = uint64(time.Hour)

func zoneOf(t *testing.T, limiter *Limiter, name string) *Zone {
	t.Helper()
	zone, err := limiter.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestEachWayToAskTakesTheZone(t *testing.T) {
	limiter := newLimiterOf(t, zonePolicy)
	tokyo := zoneOf(t, limiter, "Asia/Tokyo")
	request := NewRequest("ann").At(hourNs).Zone(tokyo)
	if d := limiter.Decide(request); d.Remaining != 2 || d.ResetAfter != 14*time.Hour {
		t.Errorf("to the midnight of Tokyo, at 15:00 UTC: %+v", d)
	}
	decisions := make([]Decision, 2)
	if err := limiter.DecideBatch([]Request{request, request.Cost(9)}, decisions); err != nil {
		t.Fatal(err)
	}
	if decisions[0].Remaining != 1 || decisions[1].Outcome != Never || decisions[1].NoZone() {
		t.Errorf("a batch: %+v", decisions)
	}
	claims := []Claim{{limiter, request}}
	for _, want := range []Outcome{Allowed, Denied} {
		if outcome, err := DecideAll(claims, decisions[:1]); outcome != want || err != nil {
			t.Errorf("claims: %v, %v", outcome, err)
		}
	}
	if decisions[0].RetryAfter != 14*time.Hour {
		t.Errorf("until Tokyo's next day: %+v", decisions[0])
	}
	d, reservation, err := limiter.ReserveRequest(request.At(15 * hourNs).Cost(3))
	if err != nil || !d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	if d := reservation.SettleAt(1, 15*hourNs); d.Outcome != Never || !d.NoZone() {
		t.Errorf("a settlement names no zone: %+v", d)
	}
	if d := limiter.Decide(request.At(15 * hourNs).Cost(0)); d.Remaining != 2 {
		t.Errorf("two came back: %+v", d)
	}
}

func TestMovingGivesNoSecondQuota(t *testing.T) {
	limiter := newLimiterOf(t, zonePolicy)
	tokyo, newYork := zoneOf(t, limiter, "Asia/Tokyo"), zoneOf(t, limiter, "-05:00")
	if d := limiter.Decide(NewRequest("ann").Cost(3).At(13 * hourNs).Zone(tokyo)); !d.Allowed {
		t.Errorf("%+v", d)
	}
	moved := limiter.Decide(NewRequest("ann").At(15*hourNs - 1).Zone(newYork))
	if moved.Outcome != Denied || moved.RetryAfter != 14*time.Hour+1 {
		t.Errorf("%+v", moved)
	}
}

func TestWithoutAZoneNothingIsCharged(t *testing.T) {
	limiter := newLimiterOf(t, zonePolicy)
	for _, d := range []Decision{
		limiter.Check("ann"), limiter.Peek("ann"), limiter.Decide(NewRequest("ann").Charge()),
		limiter.Decide(NewRequest("ann").Zone(nil)), limiter.Decide(NewRequest("ann").Zone(new(Zone))),
	} {
		if d.Outcome != Never || !d.NoZone() || d.RetryAfter != InfDuration {
			t.Errorf("%+v", d)
		}
	}
	if limiter.Forget("ann") {
		t.Error("it was charged")
	}
	if err := limiter.Wait(context.Background(), "ann", 1); !errors.Is(err, ErrNoZone) {
		t.Errorf("waiting: %v", err)
	}
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "a middleware names none: expected another policy") {
			t.Errorf("the middleware said %q", said)
		}
	}()
	Middleware(limiter, func(*http.Request) string { return "ann" })
}

func TestAZoneThatTheLimiterDoesNotTakeIsRefused(t *testing.T) {
	utc := zoneOf(t, newLimiterOf(t, zonePolicy), "UTC")
	for _, policy := range []string{"3/s", "calendar_window 3/day tz=UTC", "calendar_window 3/week tz=caller"} {
		limiter := newLimiterOf(t, policy)
		request := NewRequest("ann").Zone(utc)
		if d := limiter.Decide(request); d.Outcome != Never || !d.NoZone() || d.Err() != nil {
			t.Errorf("%s: %+v", policy, d)
		}
		decisions := make([]Decision, 1)
		if err := limiter.DecideBatch([]Request{request}, decisions); err != errZone || decisions[0] != undecided() {
			t.Errorf("%s: %v, %+v", policy, err, decisions)
		}
		if outcome, err := DecideAll([]Claim{{limiter, request}}, nil); err != errZone || outcome != Closed {
			t.Errorf("%s: %v, %v", policy, err, outcome)
		}
		if _, reservation, err := limiter.ReserveRequest(request); err != errZone || reservation != nil {
			t.Errorf("%s: %v", policy, err)
		}
		if limiter.Forget("ann") {
			t.Errorf("%s: it was charged", policy)
		}
	}
}

func TestThereIsNoSuchZone(t *testing.T) {
	for _, wrong := range [][2]string{{zonePolicy, "Europe/Atlantis"}, {zonePolicy, ""}, {"3/s", "UTC"}} {
		_, err := newLimiterOf(t, wrong[0]).Zone(wrong[1])
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != StatusPolicyBadZone || !strings.Contains(refused.Text, "expected the name") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	limiter := newLimiterOf(t, zonePolicy)
	if _, err := limiter.Zone("UTC\x00"); err == nil {
		t.Error("a NUL is taken")
	}
	limiter.Close()
	if _, err := limiter.Zone("UTC"); err != ErrClosed {
		t.Errorf("a closed limiter: %v", err)
	}
}
