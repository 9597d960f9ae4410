package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db"
	"sluice/flow"
)

// TestDoctor_credentials checks that doctor reports credentials that cannot be decrypted and
// flows with secrets in plain text, with advice, until they are fixed.
func TestDoctor_credentials(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	if code, out := doctor(t, dir, "migrate"); code != exitOK {
		t.Fatal(out)
	}
	change := func(do func(s *db.Store) error) {
		t.Helper()
		s, err := db.Open(ctx, db.Config{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := do(s); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	statement := func(text string) {
		t.Helper()
		s, err := sql.Open("sqlite3", filepath.Join(dir, db.DatabaseFile))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.ExecContext(ctx, text)
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	findings := func() (code int, found map[string][]finding) {
		t.Helper()
		code, out := doctor(t, dir, "doctor", "--json")
		if strings.Contains(out, "s3cret") {
			t.Errorf("a secret is shown: %s", out)
		}
		var report struct{ Findings []finding }
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		found = map[string][]finding{}
		for _, f := range report.Findings {
			found[f.Name] = append(found[f.Name], f)
		}
		return code, found
	}
	document := func(name, token string) []byte {
		return []byte(`{"schema":"sluice.flow/v1","name":"` + name + `","nodes":[{"id":"call","kind":"http_request","config":{"url":"https://api.example.com/","headers":{"X-Api-Key":` + token + `}}}]}`)
	}
	save := func(name string) func(s *db.Store) error {
		return func(s *db.Store) error {
			return s.SaveCredential(ctx, flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: name, Hosts: []string{"api.example.com"}}, "s3cret of "+name)
		}
	}
	inClear := &flow.Flow{WorkspaceID: flow.DefaultWorkspace, Name: "Old draft", Draft: document("Old draft", `"s3cret-1"`)}

	change(save("fine"))
	change(save("broken"))
	// A secret encrypted for one credential cannot be decrypted for another, as with a wrong key.
	statement("UPDATE credentials SET value = (SELECT value FROM credentials WHERE name = 'fine') WHERE name = 'broken'")
	change(func(s *db.Store) error { return s.CreateFlow(ctx, inClear) })
	change(func(s *db.Store) error {
		f := &flow.Flow{WorkspaceID: flow.DefaultWorkspace, Name: "Old version", Draft: document("Old version", `{"credential":"fine"}`)}
		if err := s.CreateFlow(ctx, f); err != nil {
			return err
		}
		_, _, err := s.PublishFlow(ctx, flow.DefaultWorkspace, f.ID, document("Old version", `"s3cret-2"`), "", "me")
		return err
	})
	change(func(s *db.Store) error {
		return s.CreateFlow(ctx, &flow.Flow{WorkspaceID: flow.DefaultWorkspace, Name: "Clean", Draft: document("Clean", `{"credential":"fine"}`)})
	})
	code, found := findings()
	if code != exitError {
		t.Errorf("exit %d", code)
	}
	if f := found["credentials"]; len(f) != 1 || f[0].State != verdictBad || f[0].Text != "1 credential cannot be opened with this master key: broken." || !strings.Contains(f[0].Advice, "SLUICE_MASTER_KEY_FILE") {
		t.Errorf("credentials: %+v", f)
	}
	f := found["secrets in flows"]
	if len(f) != 1 || f[0].State != verdictWarn || !strings.HasPrefix(f[0].Text, "2 flows hold a secret in clear: ") || !strings.Contains(f[0].Text, "Old draft") ||
		!strings.Contains(f[0].Text, "Old version") || strings.Contains(f[0].Text, "Clean") || !strings.Contains(f[0].Advice, "Publish them again") {
		t.Errorf("secrets in flows: %+v", f)
	}

	change(save("broken"))
	statement("DELETE FROM flows WHERE name LIKE 'Old%'")
	code, found = findings()
	if f := found["credentials"]; code != exitOK || len(f) != 1 || f[0].State != verdictOK || len(found["secrets in flows"]) != 0 {
		t.Errorf("after it was put right: exit %d, %+v, %+v", code, f, found["secrets in flows"])
	}
}
