// Package ratecellprom gives Prometheus' client the metrics of rate limiters. It is a module of its own, so that the
// binding needs nothing but the standard library.
package ratecellprom

import (
	"sort"

	"github.com/prometheus/client_golang/prometheus"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// Limiters is limiters, or rules, by the value of the label limiter.
type Limiters map[string]ratecell.Source

type collector struct {
	names    []string
	limiters Limiters
	descs    map[string]*prometheus.Desc
}

// NewCollector is a collector of the metrics of these limiters: those of [ratecell.Stats.Metrics], with the label limiter.
// Register one for a program. Later changes of the map are not seen. A scrape costs what Stats does for each limiter. One
// that is closed has no metrics.
func NewCollector(limiters Limiters) prometheus.Collector {
	c := collector{limiters: make(Limiters, len(limiters)), descs: map[string]*prometheus.Desc{}}
	for name, limiter := range limiters {
		c.names = append(c.names, name)
		c.limiters[name] = limiter
	}
	sort.Strings(c.names)
	for _, metric := range ratecell.AllMetrics() {
		c.descs[metric.Name] = prometheus.NewDesc(metric.Name, metric.Help, []string{"limiter"}, nil)
	}
	return &c
}

// Describe is for Prometheus' client.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect is for Prometheus' client.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for _, name := range c.names {
		stats, err := c.limiters[name].Stats()
		if err != nil {
			continue
		}
		for _, metric := range stats.Metrics() {
			kind := prometheus.GaugeValue
			if metric.Kind == ratecell.Counter {
				kind = prometheus.CounterValue
			}
			metrics <- prometheus.MustNewConstMetric(c.descs[metric.Name], kind, metric.Value, name)
		}
	}
}
