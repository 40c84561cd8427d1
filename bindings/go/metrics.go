//go:build cgo

package ratecell

import (
	"encoding/json"
	"fmt"
)

// MetricKind is how a metric changes.
type MetricKind string

// The kinds, by the words of Prometheus.
const (
	// Counter only grows, until what it counts is made anew.
	Counter MetricKind = "counter"
	// Gauge goes up and down.
	Gauge MetricKind = "gauge"
)

// Metric is one number of [Stats], by the name that it has in every language, in nginx and in ratecell export:
// docs/OPERATIONS.md lists them.
type Metric struct {
	// Name is by the conventions of Prometheus, such as ratecell_evicted_keys_total.
	Name string
	Kind MetricKind
	// Help is one sentence.
	Help string
	// Value is in base units: seconds, bytes, or a number, exact up to 2^53.
	Value float64
}

// Source is what has [Stats]: a [Limiter] or [Rules].
type Source interface {
	Stats() (Stats, error)
}

type metric struct {
	name string
	kind MetricKind
	help string
	of   func(*Stats) float64
}

// plainMetrics is how many metrics do not need a store.
const plainMetrics = 10

var metricTable = [...]metric{
	{"ratecell_live_keys", Gauge, "Keys that hold used units.",
		func(s *Stats) float64 { return float64(s.Live) }},
	{"ratecell_live_keys_error", Gauge, "How many more or fewer live keys there may be; 0 where all were counted.",
		func(s *Stats) float64 { return float64(s.LiveError) }},
	{"ratecell_slots", Gauge, "Places for keys; the table is made for five sevenths of them.",
		func(s *Stats) float64 { return float64(s.Slots) }},
	{"ratecell_table_bytes", Gauge, "Bytes of memory of the table.",
		func(s *Stats) float64 { return float64(s.Bytes) }},
	{"ratecell_evicted_keys_total", Counter, "Live keys that were erased for new ones.",
		func(s *Stats) float64 { return float64(s.Evicted) }},
	{"ratecell_forgiven_units_total", Counter, "Units that erased keys still held: the most that passed beyond the policy.",
		func(s *Stats) float64 { return float64(s.Forgiven) }},
	{"ratecell_shared_requests_total", Counter, "Requests decided on the cell that new keys without a place share.",
		func(s *Stats) float64 { return float64(s.Shared) }},
	{"ratecell_denied_full_requests_total", Counter, "Requests of new keys that were denied because the table was full.",
		func(s *Stats) float64 { return float64(s.DeniedFull) }},
	{"ratecell_allowed_full_requests_total", Counter, "Requests of new keys that were allowed uncharged because the table was full.",
		func(s *Stats) float64 { return float64(s.AllowedFull) }},
	{"ratecell_exhausted_requests_total", Counter, "Requests answered as by a full table because too many others came at once.",
		func(s *Stats) float64 { return float64(s.Exhausted) }},
	{"ratecell_leased_units_total", Counter, "Units that the store granted to this machine.",
		func(s *Stats) float64 { return float64(s.Leased) }},
	{"ratecell_used_units_total", Counter, "Units of leases that were used; a lease is counted when it is replaced.",
		func(s *Stats) float64 { return float64(s.Used) }},
	{"ratecell_passed_units_total", Counter, "Units of leases that passed unused.",
		func(s *Stats) float64 { return float64(s.Passed) }},
	{"ratecell_given_back_units_total", Counter, "Units that were given back to the store.",
		func(s *Stats) float64 { return float64(s.GivenBack) }},
	{"ratecell_misses_total", Counter, "Requests that no lease could answer.",
		func(s *Stats) float64 { return float64(s.Misses) }},
	{"ratecell_waits_total", Counter, "Misses that waited for the store.",
		func(s *Stats) float64 { return float64(s.Waits) }},
	{"ratecell_timeouts_total", Counter, "Misses that waited for the store in vain.",
		func(s *Stats) float64 { return float64(s.Timeouts) }},
	{"ratecell_store_operations_total", Counter, "Operations that were sent to the store.",
		func(s *Stats) float64 { return float64(s.Operations) }},
	{"ratecell_swaps_lost_total", Counter, "Operations that came after another machine's, and were repeated.",
		func(s *Stats) float64 { return float64(s.SwapsLost) }},
	{"ratecell_lag_seconds", Gauge, "How far the agent's time is behind the store's at most, in seconds.",
		func(s *Stats) float64 { return s.Lag.Seconds() }},
	{"ratecell_healed_words_total", Counter, "Words at the store below what this machine had charged: above 0, the store has forgotten.",
		func(s *Stats) float64 { return float64(s.Healed) }},
	{"ratecell_board_full_total", Counter, "Misses that had no room on the machine's board.",
		func(s *Stats) float64 { return float64(s.BoardFull) }},
	{"ratecell_opened_units_total", Counter, "Units that were allowed uncharged because the store was away.",
		func(s *Stats) float64 { return float64(s.Opened) }},
	{"ratecell_local_units_total", Counter, "Units that the agent granted by its part of the policy because the store was away.",
		func(s *Stats) float64 { return float64(s.Local) }},
	{"ratecell_connected", Gauge, "1 if an agent is there and the store answers it.",
		func(s *Stats) float64 { return oneIf(s.Connected) }},
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// Metrics is what the stats say, by name. The metrics of a store are there if one of them is not 0: stats do not say
// whether a file is one of leases.
func (s Stats) Metrics() []Metric {
	all := s.all()
	for _, metric := range all[plainMetrics:] {
		if metric.Value != 0 {
			return all
		}
	}
	return all[:plainMetrics]
}

// AllMetrics is every metric that [Stats.Metrics] may have, with the value 0.
func AllMetrics() []Metric {
	return Stats{}.all()
}

func (s Stats) all() []Metric {
	all := make([]Metric, len(metricTable))
	for i, m := range metricTable {
		all[i] = Metric{m.name, m.kind, m.help, m.of(&s)}
	}
	return all
}

// Vars is the metrics of a limiter or of rules as a variable for [expvar], which is not imported here, because it adds a
// handler to http.DefaultServeMux:
//
//	expvar.Publish("login", ratecell.Vars(limiter))
//
// It is read when /debug/vars is, and costs what Stats does. It is null once the limiter is closed.
//
// [expvar]: https://pkg.go.dev/expvar
func Vars(source Source) fmt.Stringer {
	return vars{source}
}

type vars struct{ source Source }

// String is a JSON object of numbers.
func (v vars) String() string {
	stats, err := v.source.Stats()
	if err != nil {
		return "null"
	}
	values := map[string]float64{}
	for _, metric := range stats.Metrics() {
		values[metric.Name] = metric.Value
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "null"
	}
	return string(text)
}
