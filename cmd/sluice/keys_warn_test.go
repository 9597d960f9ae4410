package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
)

// TestLogExpiringKeys checks that only keys in use that expire within a week are logged.
func TestLogExpiringKeys(t *testing.T) {
	t.Parallel()
	store, now := dbtest.SQLite(t), time.Now()
	add := func(name string, left time.Duration, uses int64) {
		k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: name, Prefix: "slu_" + name, Hash: name, ExpiresAt: now.Add(left)}
		if err := store.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if err := store.TouchKeys(t.Context(), []flow.KeyUse{{KeyID: k.ID, At: now, IP: "::1", Count: uses}}); err != nil {
			t.Fatal(err)
		}
	}
	add("ending", 5*24*time.Hour, 3)
	add("unused", 5*24*time.Hour, 0)
	add("lasting", 8*24*time.Hour, 3)
	add("ended", -time.Hour, 3)
	var out bytes.Buffer
	if err := logExpiringKeys(t.Context(), store, slog.New(slog.NewTextHandler(&out, nil)), now); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "name=ending") {
		t.Errorf("the log says %s", out.String())
	}
}
