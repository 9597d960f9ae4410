package db_test

import (
	"testing"
	"time"

	"sluice/flow"
)

func (w *fixture) signing() (secrets []string) {
	w.t.Helper()
	list, err := w.SigningSecrets(w.ctx, ws, w.flow.ID)
	w.must(err)
	for _, s := range list {
		secrets = append(secrets, s.Secret)
	}
	return secrets
}

func (w *fixture) rotate(overlap time.Duration) string {
	w.t.Helper()
	secret, err := w.RotateSigning(w.ctx, ws, w.flow.ID, overlap)
	w.must(err)
	return secret
}

func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	wantEqual(t, what+": how many", len(got), len(want))
	for i := range want {
		wantEqual(t, what, got[i], want[i])
	}
}

func TestRotateSigning(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		first := w.signing()[0]
		second := w.rotate(time.Hour)
		wantTexts(t, "after the first", w.signing(), second, first)
		third := w.rotate(24 * time.Hour)
		wantTexts(t, "after the second", w.signing(), third, second, first)
		w.clock.move(time.Hour)
		wantTexts(t, "an hour later", w.signing(), third, second)
		w.clock.move(23 * time.Hour)
		wantTexts(t, "a day later", w.signing(), third)
		fourth := w.rotate(time.Hour)
		w.must(w.EndSigning(w.ctx, ws, w.flow.ID))
		wantTexts(t, "ended early", w.signing(), fourth)
		w.rotate(time.Hour)
		wantTexts(t, "before it is lost", w.signing()[1:], fourth)
		lost := w.rotate(0)
		wantTexts(t, "at once", w.signing(), lost)
	})
}

func TestRotateSigning_refuses(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, err := w.RotateSigning(w.ctx, "ws_other", w.flow.ID, time.Hour)
		wantCode(t, err, flow.CodeNotFound)
		wantCode(t, w.EndSigning(w.ctx, "ws_other", w.flow.ID), flow.CodeNotFound)
		_, err = w.RotateSigning(w.ctx, ws, w.flow.ID, 8*24*time.Hour)
		wantCode(t, err, flow.CodeInputInvalid)
		for range 5 {
			w.rotate(time.Hour)
		}
		before := w.signing()
		_, err = w.RotateSigning(w.ctx, ws, w.flow.ID, time.Hour)
		wantCode(t, err, flow.CodeInputInvalid)
		wantTexts(t, "refused", w.signing(), before...)
	})
}

func TestSaveCredential_keeps_signing(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		plain := flow.Credential{WorkspaceID: ws, Name: "hook", Overlap: time.Hour}
		provider := flow.Credential{WorkspaceID: ws, Name: "openai", Provider: "openai", Overlap: time.Hour}
		previous := func(name string) (secrets []string) {
			list, err := w.PreviousSecrets(w.ctx, ws, name)
			w.must(err)
			for _, s := range list {
				secrets = append(secrets, s.Secret)
			}
			return secrets
		}
		for _, secret := range []string{"one", "one", "two", "two"} {
			w.must(w.SaveCredential(w.ctx, plain, secret))
			w.must(w.SaveCredential(w.ctx, provider, secret))
		}
		wantTexts(t, "plain", previous("hook"), "one")
		wantTexts(t, "of a provider", previous("openai"))
		w.clock.move(time.Hour)
		wantTexts(t, "later", previous("hook"))
		w.must(w.SaveCredential(w.ctx, plain, "three"))
		wantTexts(t, "again", previous("hook"), "two")
		plain.Overlap = 0
		w.must(w.SaveCredential(w.ctx, plain, "four"))
		wantTexts(t, "lost", previous("hook"))
		_, err := w.PreviousSecrets(w.ctx, "ws_other", "hook")
		wantCode(t, err, flow.CodeNotFound)
	})
}
