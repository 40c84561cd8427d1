package ratecellprom

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ratecell "github.com/ratecell/ratecell/bindings/go"
)

// stats is a limiter with these stats.
type stats ratecell.Stats

func (s stats) Stats() (ratecell.Stats, error) { return ratecell.Stats(s), nil }

func scraped(t *testing.T, limiters Limiters) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(limiters))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err, string(text))
	}
	return string(text)
}

func TestACollectorHasAllMetrics(t *testing.T) {
	text := scraped(t, Limiters{"leases": stats{Leased: 7, Live: 3}, "plain": stats{Evicted: 5}})
	for i, metric := range ratecell.AllMetrics() {
		described := fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", metric.Name, metric.Help, metric.Name, metric.Kind)
		if !strings.Contains(text, described) {
			t.Errorf("expected %q in\n%s", described, text)
		}
		samples := 2
		if i >= 10 {
			samples = 1
		}
		if found := strings.Count(text, "\n"+metric.Name+"{"); found != samples {
			t.Errorf("%s: %d samples, expected %d", metric.Name, found, samples)
		}
	}
	for _, sample := range []string{
		`ratecell_leased_units_total{limiter="leases"} 7`,
		`ratecell_live_keys{limiter="leases"} 3`,
		`ratecell_evicted_keys_total{limiter="plain"} 5`,
	} {
		if !strings.Contains(text, "\n"+sample+"\n") {
			t.Errorf("expected %q in\n%s", sample, text)
		}
	}
}

func TestAClosedLimiterHasNoMetrics(t *testing.T) {
	limiter, err := ratecell.New("1/h", ratecell.MaxKeys(1000))
	if err != nil {
		t.Fatal(err)
	}
	limiters := Limiters{"login": limiter}
	if text := scraped(t, limiters); !strings.Contains(text, `ratecell_live_keys{limiter="login"} 0`) {
		t.Error(text)
	}
	limiter.Close()
	if text := scraped(t, limiters); text != "" {
		t.Error(text)
	}
}

func ExampleNewCollector() {
	limiter, err := ratecell.New("100/s burst=200")
	if err != nil {
		log.Fatal(err)
	}
	prometheus.MustRegister(NewCollector(Limiters{"api": limiter}))
	http.Handle("/metrics", promhttp.Handler())
}
