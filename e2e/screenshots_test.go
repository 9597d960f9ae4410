package e2e

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"sluice/e2e/chrome"
)

var screenshots = flag.String("screenshots", "", "write the pictures of README and docs to this directory")

// TestScreenshots takes the screenshots of README and docs: make screenshots.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("pictures are made by: make screenshots")
	}
	dir, err := filepath.Abs(*screenshots)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newDashboard(t).seed()
	s.stop()
	s.fillHistory(filepath.Join(s.dir, "sluice.db"))
	s.server.start()
	tab := s.signIn(t, ownerEmail, "/flows")
	for _, p := range []place{{"flows", "/flows"}, {"run", "/runs/" + s.failed}, {"usage", "/usage?range=30"}, {"versions", "/flows/" + s.flow + "/versions"}, {"form", "/f/" + s.flow}} {
		tab.Go(s.base() + p.path)
		s.picture(tab, dir, p.name)
	}
	tab.Go(s.base() + "/flows/" + s.flow)
	tab.There("flow-canvas[ready]")
	tab.Click("#run-button")
	tab.Click("[data-fill-examples]")
	tab.Click("#run-form footer button:not([type=button])")
	tab.Has("#run-bar", "Succeeded")
	tab.Click(`[data-command="fit"]`)
	tab.Click("article[data-kind=classify] header")
	tab.There("#inspector [data-node]")
	tab.Click("#tab-api")
	tab.There("#api-snippets")
	s.picture(tab, dir, "builder")
}

// picture takes a page in both themes.
func (s *seeded) picture(tab *chrome.Tab, dir, name string) {
	tab.Until("document.readyState === 'complete'")
	for _, theme := range []string{"light", "dark"} {
		tab.Theme(theme)
		tab.Eval("Promise.all(document.getAnimations().map((a) => a.finished.catch(() => {})))")
		tab.Picture(filepath.Join(dir, name+"-"+theme+".png"))
	}
	tab.Theme("light")
}

// fillHistory copies the counts of the last minute to earlier hours and days, so that charts
// have data.
func (s *seeded) fillHistory(file string) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", file)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for hour := int64(1); hour < 24; hour++ {
		s.exec(db, `INSERT INTO flow_hours SELECT workspace_id, flow_id, hour - ?1, bucket, succeeded * ?2, failed * (?1 % 7 = 3), canceled, cost_nano_usd FROM flow_hours
			WHERE hour = (SELECT max(hour) FROM flow_hours)`, hour, 1+hour*hour%5)
	}
	today := time.Now().UTC()
	for day := range 29 {
		s.exec(db, `INSERT INTO usage_daily (workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps, input_tokens, output_tokens, cost_nano_usd, duration)
			SELECT workspace_id, ?1, key_id, flow_id, model, bucket, runs * ?2, succeeded * ?2, failed * ?2, canceled, steps, input_tokens, output_tokens, cost_nano_usd, duration * ?2
			FROM usage_daily WHERE day = ?3`, today.AddDate(0, 0, -day-1).Format(time.DateOnly), 2+(day*day)%9, today.Format(time.DateOnly))
	}
}

func (s *seeded) exec(db *sql.DB, query string, args ...any) {
	s.t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		s.t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
}
