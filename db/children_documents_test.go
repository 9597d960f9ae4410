package db_test

import (
	"slices"
	"testing"

	"sluice/flow"
)

// TestTreeDocuments_lists_each_once lists each document of a tree of runs once, from any run of the tree.
func TestTreeDocuments_lists_each_once(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run := w.start()
		for i, hash := range []string{"b", "a", "b", "c"} {
			c := &flow.Children{WorkspaceID: ws, Caller: flow.CallingStep{RunID: run.ID, Path: string(rune('p' + i))}, RootRunID: run.ID, Depth: 1, FlowID: run.FlowID, DocumentHash: hash, Total: -1}
			w.must(w.BeginChildren(w.ctx, c, flow.ChildTemplate{}))
		}
		root, got, err := w.TreeDocuments(w.ctx, ws, run.ID)
		if want := []string{run.DocumentHash, "a", "b", "c"}; err != nil || root != run.ID || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", root, got, err, want)
		}
	})
}

// TestSignUp_replaces_an_account_without_content signs up twice with an address.
func TestSignUp_replaces_an_account_without_content(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		signUp := func() *flow.User {
			u := &flow.User{Email: "kim@example.com", Name: "Kim", PasswordHash: "x"}
			w.must(w.SignUp(w.ctx, u, &flow.Workspace{Name: "Kim's"}))
			return u
		}
		signUp()
		second := signUp()
		if u, err := w.FindUnverifiedUser(w.ctx, "Kim@example.com"); err != nil || u.ID != second.ID || u.Email != "kim@example.com" {
			t.Errorf("found %+v, %v", u, err)
		}
	})
}
