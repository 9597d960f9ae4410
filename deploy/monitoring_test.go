package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// promtool runs the checker of Prometheus in this directory.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	_, err := exec.LookPath("promtool")
	need.Tool(t, "promtool is not installed", err == nil)
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlerts_fire_and_keep_quiet runs each alert on series that let it fire, and on series that do not.
func TestAlerts_fire_and_keep_quiet(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "alerts.yml")
	promtool(t, "test", "rules", "alerts_test.yml")
}

func TestAlerts_are_all_tested(t *testing.T) {
	t.Parallel()
	rules, tests := read(t, "alerts.yml"), read(t, "alerts_test.yml")
	names := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(names) != 12 {
		t.Errorf("there are %d alerts", len(names))
	}
	for _, m := range names {
		for _, test := range []string{m[1] + " fires", m[1] + " does not fire"} {
			if !strings.Contains(tests, "name: "+test+"\n") {
				t.Errorf("there is no test %q", test)
			}
		}
	}
}

// expressions returns the queries of the dashboard, with values for the variables of Grafana.
func expressions(t *testing.T) (list []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			list = append(list, strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(target.Expr))
		}
	}
	if len(list) < 20 {
		t.Fatalf("the dashboard has %d queries", len(list))
	}
	return list
}

// TestDashboard_has_valid_queries: each becomes a rule, which the checker of Prometheus parses.
func TestDashboard_has_valid_queries(t *testing.T) {
	t.Parallel()
	rules := []map[string]string{}
	for _, expr := range expressions(t) {
		rules = append(rules, map[string]string{"record": "query", "expr": expr})
	}
	data, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint=none", file)
}

// TestMonitoring_names_metrics_that_exist compares the names in the dashboard, the alerts and the documentation with those that
// the program registers.
func TestMonitoring_names_metrics_that_exist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	files, err := filepath.Glob("../cmd/sluice/metrics/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	name := regexp.MustCompile(`\bsluice_[a-z_]+`)
	quoted := regexp.MustCompile(`"(sluice_[a-z_]+)"`)
	for _, file := range files {
		for _, m := range quoted.FindAllStringSubmatch(read(t, file), -1) {
			known[m[1]] = true
		}
	}
	for _, text := range []string{strings.Join(expressions(t), "\n"), read(t, "alerts.yml"), read(t, "../docs/telemetry.md")} {
		for _, found := range name.FindAllString(text, -1) {
			base := found
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !known[found] && !known[base] {
				t.Errorf("there is no metric %s", found)
			}
		}
	}
	docs := read(t, "../docs/telemetry.md")
	for metric := range known {
		if !strings.Contains(docs, "`"+metric) {
			t.Errorf("docs/telemetry.md lacks %s", metric)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
