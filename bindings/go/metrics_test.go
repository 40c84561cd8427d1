package ratecell

import (
	"encoding/json"
	"expvar"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// documentedMetrics is those of docs/OPERATIONS.md that limiters have: name, kind, field and meaning.
func documentedMetrics(t *testing.T) [][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented [][]string
	row := regexp.MustCompile("(?m)^\\| `(ratecell_\\w+)` \\| (\\w+) \\| `(\\w+)` \\| (.*) \\|$")
	for _, found := range row.FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, found[1:])
	}
	return documented
}

func TestMetricsAreThoseThatAreDocumented(t *testing.T) {
	// Each field of the stats is another number.
	stats := Stats{Lag: 24 * time.Second, Connected: true}
	fields := reflect.ValueOf(&stats).Elem()
	numbers := map[string]float64{"lagns": 24, "connected": 1}
	for i := 0; i < fields.NumField(); i++ {
		if field := fields.Field(i); field.Kind() == reflect.Uint64 {
			field.SetUint(uint64(100 + i))
			numbers[strings.ToLower(fields.Type().Field(i).Name)] = float64(100 + i)
		}
	}
	documented := documentedMetrics(t)
	metrics := stats.Metrics()
	if len(metrics) != len(documented) || len(metrics) != fields.NumField() || len(AllMetrics()) != len(metrics) {
		t.Fatalf("%d metrics, %d documented, %d fields", len(metrics), len(documented), fields.NumField())
	}
	for i, metric := range metrics {
		found := []string{metric.Name, string(metric.Kind), documented[i][2], metric.Help}
		if !reflect.DeepEqual(found, documented[i]) {
			t.Errorf("%q, expected %q", found, documented[i])
		}
		if want := numbers[strings.ReplaceAll(documented[i][2], "_", "")]; metric.Value != want {
			t.Errorf("%s is %v, expected %v", metric.Name, metric.Value, want)
		}
	}
}

func TestMetricsOfAStoreAreThereIfOneIsNot0(t *testing.T) {
	for stats, want := range map[Stats]int{{}: 10, {Live: 7}: 10, {Misses: 1}: 25, {Connected: true}: 25} {
		if found := len(stats.Metrics()); found != want {
			t.Errorf("%d metrics, expected %d: %+v", found, want, stats)
		}
	}
}

func TestVarsOfALimiter(t *testing.T) {
	limiter, err := New("1/h", MaxKeys(1000))
	if err != nil {
		t.Fatal(err)
	}
	expvar.Publish("login", Vars(limiter))
	limiter.CheckAt("user:42", 1, 0)
	var values map[string]float64
	if err := json.Unmarshal([]byte(expvar.Get("login").String()), &values); err != nil {
		t.Fatal(err)
	}
	stats, err := limiter.Stats()
	if err != nil || len(values) != 10 || values["ratecell_slots"] != float64(stats.Slots) {
		t.Errorf("%v, %v", values, err)
	}
	limiter.Close()
	if text := expvar.Get("login").String(); text != "null" {
		t.Error(text)
	}
}
