package providers

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow/sorting"
)

// update records which rows passed against real models.
var update = flag.Bool("update", false, "record the rows that passed live in testdata/live.json")

// liveRecord has the day of the last success by case and model. What it lacks was never run live.
const liveRecord = "testdata/live.json"

// liveTurn is how a case of the conformance table is run against a real model.
type liveTurn struct {
	prompt      string
	maxTokens   int
	least, most int        // calls
	class       ErrorClass // of the error that is expected
}

// TestTurn_conforms_live runs the conformance table against real models:
//
//	SLUICE_LIVE_MODELS="openai/gpt-5-mini anthropic/claude-haiku-4-5" go test ./providers -run live -v
//
// Secrets are read from the variables of the presets, such as OPENAI_API_KEY. SLUICE_LIVE_BASE_URL
// replaces the address. It costs a few cents for each model.
func TestTurn_conforms_live(t *testing.T) {
	models := strings.Fields(os.Getenv("SLUICE_LIVE_MODELS"))
	if len(models) == 0 {
		t.Skip("it calls real models; set SLUICE_LIVE_MODELS")
	}
	record := readLive(t)
	client := NewClient(newDoer(t))
	for _, ref := range models {
		at, model := liveEndpoint(t, ref)
		for _, c := range turnCases() {
			if c.live == nil {
				continue
			}
			if t.Run(ref+"/"+c.name, func(t *testing.T) { c.runLive(t, client, at, model) }) {
				if record[c.name] == nil {
					record[c.name] = map[string]string{}
				}
				record[c.name][ref] = time.Now().UTC().Format(time.DateOnly)
			} else {
				delete(record[c.name], ref)
			}
		}
	}
	if !*update {
		return
	}
	data, _ := json.MarshalIndent(record, "", "\t")
	if err := os.WriteFile(liveRecord, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// liveEndpoint returns the endpoint of a model reference.
func liveEndpoint(t *testing.T, ref string) (Endpoint, string) {
	t.Helper()
	provider, model, ok := ParseModel(ref)
	preset, known := FindPreset(provider)
	if !ok || !known {
		t.Fatalf("%s is no model of a known provider", ref)
	}
	at := Endpoint{Provider: provider, BaseURL: os.Getenv("SLUICE_LIVE_BASE_URL"), Trusted: true}
	for _, name := range preset.EnvVars {
		if at.Secret == "" {
			at.Secret = os.Getenv(name)
		}
	}
	return at, model
}

// runLive asks the model, and sends the results of its calls.
func (c *turnCase) runLive(t *testing.T, client *Client, at Endpoint, model string) {
	req := turnRequest(t)
	if c.request != nil {
		c.request(&req)
	}
	req.Model, req.MaxTokens = model, max(c.live.maxTokens, 0)
	if req.Prompt = c.live.prompt; len(req.Items) > 0 {
		req.Items = append(req.Items, Item{Type: ItemText, Role: "user", Text: c.live.prompt})
	}
	r, err := client.Turn(brief(t), at, req, nil)
	if c.live.class != "" {
		if e := failure(t, err); e.Class != c.live.class || r == nil || r.Usage.OutputTokens == 0 {
			t.Errorf("got %+v, %+v", r, e)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if n := len(r.Calls()); n < c.live.least || n > c.live.most || (n > 0) != (r.Stop == stopCalls) {
		t.Fatalf("got %d calls", n)
	}
	if r.Usage.InputTokens == 0 || r.Usage.OutputTokens == 0 || r.Usage.Incomplete {
		t.Errorf("got the usage %+v", r.Usage)
	}
	if len(r.Calls()) == 0 {
		return
	}
	req.Items = append(req.Items, r.Items...)
	for _, call := range r.Calls() {
		i := 0
		for i < len(req.Tools)-1 && req.Tools[i].Name != call.Name {
			i++
		}
		if _, wrong, err := req.Tools[i].ReadArguments(brief(t), call.Arguments); err != nil || wrong != "" {
			t.Errorf("%+v: %s %v", call, wrong, err)
		}
		req.Items = append(req.Items, Item{Type: ItemResult, Result: &ToolResult{CallID: call.ID, Name: call.Name, Text: "It is 12:00 and snowing."}})
	}
	req.ToolChoice = ""
	if _, err := client.Turn(brief(t), at, req, nil); err != nil {
		t.Errorf("the results: %v", err)
	}
}

// readLive reads the record.
func readLive(t *testing.T) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(liveRecord)
	if err != nil {
		t.Fatal(err)
	}
	record := map[string]map[string]string{}
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

// liveSummary returns a line for each row that can run live: the models that passed it last and when, or that
// none did.
func liveSummary(rows []string, record map[string]map[string]string) (lines []string) {
	for _, row := range rows {
		var passed []string
		for _, model := range sorting.Keys(record[row]) {
			passed = append(passed, model+" on "+record[row][model])
		}
		if len(passed) == 0 {
			passed = []string{"never run live"}
		}
		lines = append(lines, row+": "+strings.Join(passed, ", "))
	}
	return lines
}

// TestLiveRecord_has_only_rows_of_the_table, and lists for make live which of them ran against real models.
func TestLiveRecord_has_only_rows_of_the_table(t *testing.T) {
	t.Parallel()
	record := readLive(t)
	var rows []string
	for _, c := range turnCases() {
		if c.live != nil {
			rows = append(rows, c.name)
		}
	}
	for row, models := range record {
		if !slices.Contains(rows, row) {
			t.Errorf("%s has the row %q, which cannot run live", liveRecord, row)
		}
		for model, day := range models {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				t.Errorf("%s: %s passed %q on %q", liveRecord, model, row, day)
			}
		}
	}
	for _, line := range liveSummary(rows, record) {
		t.Log(line)
	}
	got := strings.Join(liveSummary([]string{"one", "two"}, map[string]map[string]string{"one": {"b/m": "2026-11-02", "a/m": "2026-11-01"}}), "; ")
	if want := "one: a/m on 2026-11-01, b/m on 2026-11-02; two: never run live"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}
