package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sluice/db"
	"sluice/flow"
)

// TestUserCommands_in_named_workspace manages people in a workspace selected by name.
func TestUserCommands_in_named_workspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := func(want int, in string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := run(append(args, "--data-dir="+dir), strings.NewReader(in), &out, &out); code != want {
			t.Fatalf("%v: exit %d:\n%s", args, code, &out)
		}
		return out.String()
	}
	has := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in:\n%s", part, out)
			}
		}
	}
	const password = "violin harbor seventeen moss\n"
	command(exitOK, password, "user", "add", "--email=ada@example.com", "--password-stdin")
	command(exitOK, password, "user", "add", "--email=bob@example.com", "--password-stdin", "--role=editor")
	has(command(exitOK, "", "user", "list"), "ada@example.com", "owner", "bob@example.com", "editor")
	has(command(exitOK, "a different long phrase\n", "user", "password", "bob@example.com", "--password-stdin"), "sessions have ended")
	has(command(exitError, "short\n", "user", "password", "bob@example.com", "--password-stdin"), "characters")
	has(command(exitError, "", "user", "remove", "ada@example.com"), "needs an owner")
	has(command(exitOK, "", "user", "remove", "bob@example.com"), "no longer a member")
	has(command(exitError, "", "user", "remove", "bob@example.com"), "has no member with the email address")

	store, err := db.Open(t.Context(), db.Config{DataDir: dir, MustExist: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, ws := range []flow.Workspace{{ID: "ws_shop", Name: "Shop"}, {ID: "ws_a", Name: "Twice"}, {ID: "ws_b", Name: "Twice"}} {
		if err := store.CreateWorkspace(t.Context(), ws); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	command(exitOK, "", "key", "create", "--name=of the shop", "--workspace=Shop")
	has(command(exitOK, "", "key", "list", "--workspace=ws_shop"), "of the shop")
	if out := command(exitOK, "", "key", "list"); strings.Contains(out, "of the shop") {
		t.Errorf("another workspace lists it:\n%s", out)
	}
	has(command(exitUsage, "", "key", "list", "--workspace=Twice"), "ws_a, ws_b")
	has(command(exitError, "", "key", "list", "--workspace=None"), "there is no workspace")
}

// TestHelp_omits_settings checks that the help of a command has no settings of the server.
func TestHelp_omits_settings(t *testing.T) {
	t.Parallel()
	var own, all bytes.Buffer
	if run([]string{"key", "create", "--help"}, nil, &own, &own) != exitOK || run([]string{"--help"}, nil, &all, &all) != exitOK {
		t.Fatalf("%s%s", &own, &all)
	}
	if strings.Contains(own.String(), "SLUICE_") || !strings.Contains(own.String(), "--rpm") || !strings.Contains(all.String(), "SLUICE_DATA_DIR") {
		t.Errorf("the help of a command:\n%s", &own)
	}
}
