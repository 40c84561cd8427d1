package ratecell

import (
	"net/http"
	"runtime"
	"testing"
	"time"
)

// collected waits until a collection has found all that nothing refers to, and its finalizers have run.
func collected() {
	// Of what one collection has found, the finalizers run in any order; all of them before those of the next.
	for i := 0; i < 2; i++ {
		ran := make(chan struct{})
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { close(ran) })
		runtime.GC()
		<-ran
	}
}

// many is how many are freed and made again: more than the C library's allocator keeps back for one thread.
const many = 200

// Each copy would read the memory of another zone, had the first one's end freed its own.
func TestACopyOfAZoneOutlivesIt(t *testing.T) {
	limiter := newLimiterOf(t, zonePolicy)
	var copies, others [many]Zone
	for i := range copies {
		copies[i] = *zoneOf(t, limiter, "Asia/Tokyo")
	}
	collected()
	for i := range others {
		others[i] = *zoneOf(t, limiter, "-05:00")
	}
	for i := range copies {
		d := limiter.Decide(NewRequest([]byte{byte(i)}).At(hourNs).Zone(&copies[i]))
		if !d.Allowed || d.ResetAfter != 14*time.Hour {
			t.Fatalf("copy %d, to the midnight of Tokyo at 15:00 UTC: %+v", i, d)
		}
	}
	runtime.KeepAlive(&others)
}

func TestACopyOfClientsOutlivesThem(t *testing.T) {
	made := func(width int) Clients {
		clients, err := NewClients(ClientWidth(width, 64))
		if err != nil {
			t.Fatal(err)
		}
		return *clients
	}
	var copies, others [many]Clients
	for i := range copies {
		copies[i] = made(24)
	}
	collected()
	for i := range others {
		others[i] = made(8)
	}
	for i := range copies {
		if key := copies[i].Key("203.0.113.7:80", http.Header{}); key != "203.0.113.0/24" {
			t.Fatalf("copy %d: %s", i, key)
		}
	}
	runtime.KeepAlive(&others)
	if key := new(Clients).Key("203.0.113.7:80", nil); key != unknownClient {
		t.Errorf("those that NewClients did not make: %s", key)
	}
}
