package db_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/db/masterkey"
	"sluice/flow"
)

func TestCredentials(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		c := flow.Credential{WorkspaceID: ws, Name: "main", Provider: "openai", BaseURL: "https://api.openai.com/v2", Trusted: true, Hosts: []string{"api.openai.com"}}
		w.must(w.SaveCredential(w.ctx, c, "sk-one"))
		w.must(w.SaveCredential(w.ctx, c, "sk-two"))
		got, secret, err := w.OpenCredential(w.ctx, ws, "main")
		w.must(err)
		wantEqual(t, "secret", secret, "sk-two")
		wantEqual(t, "hosts", strings.Join(got.Hosts, " "), "api.openai.com")
		wantEqual(t, "base URL", got.BaseURL, "https://api.openai.com/v2")
		wantEqual(t, "trusted", got.Trusted, true)
		list, err := w.ListCredentials(w.ctx, ws)
		w.must(err)
		wantEqual(t, "credentials", len(list), 1)
		_, _, err = w.OpenCredential(w.ctx, "ws_other", "main")
		wantCode(t, err, flow.CodeNotFound)
		w.must(w.RemoveCredential(w.ctx, ws, "main"))
		wantCode(t, w.RemoveCredential(w.ctx, ws, "main"), flow.CodeNotFound)
		_, err = w.FindCredential(w.ctx, ws, "main")
		wantCode(t, err, flow.CodeNotFound)
	})
}

// An encrypted value that is moved to another row cannot be decrypted.
func TestSecrets_are_bound_to_their_place(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "a"}, "secret of a"))
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "b"}, "secret of b"))
		w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
			_, err := tx.DBTX.ExecContext(w.ctx, "UPDATE credentials SET value = (SELECT value FROM credentials WHERE name = 'a') WHERE name = 'b'")
			return err
		}))
		if _, secret, err := w.OpenCredential(w.ctx, ws, "b"); err == nil {
			t.Fatalf("it opened: %q", secret)
		}
	})
}

func TestSecrets_are_never_stored_in_plain_text(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, s, &clock{})
	const canary = "canary-5f2c"
	w.must(s.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "c"}, canary+"-credential"))
	r := w.take(w.start(func(n *flow.NewRun) {
		n.Webhook = &flow.NewDelivery{URL: "https://example.com", Secret: canary + "-run-webhook"}
	}).ID)
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Deliveries: []flow.NewDelivery{{
		URL: "https://example.com", Secret: canary + "-secret", Signature: canary + "-signature",
	}}}))
	w.must(w.finish(r, flow.RunSucceeded))
	signing, err := w.SigningSecret(w.ctx, ws, w.flow.ID)
	w.must(err)
	if !strings.HasPrefix(signing, "whsec_") {
		t.Fatalf("signing secret %q", signing)
	}
	w.must(s.Close())
	err = filepath.WalkDir(cfg.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) || bytes.Contains(data, []byte(signing)) {
			t.Errorf("%s holds a secret in clear", d.Name())
		}
		if info, _ := d.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", d.Name(), info.Mode())
		}
		return err
	})
	w.must(err)
}

func TestMasterKey(t *testing.T) {
	t.Parallel()
	raw := func(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }
	cases := map[string]struct {
		first, second func(*core.Config)
		want          string // in the error; empty: it opens
	}{
		"made and found again":  {none, none, ""},
		"given in base64":       {key(raw(1)), key(raw(1)), ""},
		"another one":           {key(raw(1)), key(raw(2)), "does not match"},
		"lost":                  {none, func(c *core.Config) { os.Remove(filepath.Join(c.DataDir, masterkey.File)) }, "there is no master key"},
		"none where one was":    {key(raw(1)), none, "there is no master key"},
		"too short":             {key("c2hvcnQ="), nil, "32 bytes"},
		"a broken keyset":       {key(`{"key":[]}`), nil, "not a usable"},
		"moved to its own file": {none, move, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := core.Config{DataDir: t.TempDir()}
			c.first(&cfg)
			err := openAndClose(t, cfg)
			if c.second != nil {
				if err != nil {
					t.Fatal(err)
				}
				cfg = core.Config{DataDir: cfg.DataDir}
				c.second(&cfg)
				err = openAndClose(t, cfg)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

func none(*core.Config) {}

func key(text string) func(*core.Config) { return func(c *core.Config) { c.MasterKey = text } }

func move(c *core.Config) {
	c.MasterKeyFile = filepath.Join(c.DataDir, "elsewhere")
	os.Rename(filepath.Join(c.DataDir, masterkey.File), c.MasterKeyFile)
}

func openAndClose(t *testing.T, cfg core.Config) error {
	t.Helper()
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		return err
	}
	return s.Close()
}

func TestMasterKey_of_another_database(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	cfg.MasterKey = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	if err := openAndClose(t, cfg); !errors.Is(err, core.ErrWrongKey) {
		t.Fatalf("got %v", err)
	}
}
