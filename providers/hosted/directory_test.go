package hosted_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func directory(t *testing.T) (*hosted.Directory, *hostedtest.Fake, *clock) {
	t.Helper()
	fake, client, _ := setup(t)
	d, c := hosted.NewDirectory(client), &clock{now: time.Unix(1.8e9, 0)}
	hosted.SetNow(d, c.Now)
	return d, fake, c
}

func has(list []hosted.Listing, name string) bool {
	return slices.ContainsFunc(list, func(l hosted.Listing) bool { return l.Owner+"/"+l.Name == name })
}

// down makes every call fail.
func down(fake *hostedtest.Fake) { fake.Fail(hostedtest.Fault{Times: 1000, Status: 503}) }

func TestDirectory(t *testing.T) {
	t.Parallel()
	t.Run("shows the shipped models without a secret", func(t *testing.T) {
		t.Parallel()
		d, fake, _ := directory(t)
		categories, err := d.Categories(t.Context(), "")
		found, err2 := d.Search(t.Context(), "", "whisper")
		models, err3 := d.Models(t.Context(), "", "music")
		if errors.Join(err, err2, err3) != nil || len(categories) != 12 || !has(found, "openai/whisper") || !has(models, "meta/musicgen") {
			t.Errorf("%d categories, %v, %v", len(categories), found, models)
		}
		if n := len(fake.Requests()); n != 0 {
			t.Errorf("sent %d requests", n)
		}
	})
	t.Run("adds what the platform has", func(t *testing.T) {
		t.Parallel()
		d, fake, _ := directory(t)
		fake.AddModel(hostedtest.Model{Owner: "openai", Name: "whisper", Description: "writes what is said"})
		fake.AddCollection(hostedtest.Collection{Slug: "music", Name: "Their music", Models: []string{"acme/writer"}})
		categories, err := d.Categories(t.Context(), hostedtest.Secret)
		if err != nil || len(categories) != 13 || categories[12].Slug != "words" {
			t.Errorf("%+v, %v", categories, err)
		}
		found, err := d.Search(t.Context(), hostedtest.Secret, "whisper")
		if err != nil || len(slices.DeleteFunc(slices.Clone(found), func(l hosted.Listing) bool { return l.Name != "whisper" })) != 1 || found[0].Category == "" {
			t.Errorf("%+v, %v", found, err)
		}
		for category, want := range map[string][]string{"music": {"meta/musicgen", "acme/writer"}, "words": {"acme/writer"}, "ocr": {"cuuupid/marker"}} {
			models, err := d.Models(t.Context(), hostedtest.Secret, category)
			for _, name := range want {
				if err != nil || !has(models, name) {
					t.Errorf("%s lacks %s: %v", category, name, err)
				}
			}
		}
	})
	t.Run("keeps what the platform said, and beyond its time if it fails", func(t *testing.T) {
		t.Parallel()
		d, fake, clock := directory(t)
		for range 3 {
			if _, err := d.Search(t.Context(), hostedtest.Secret, "writes"); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(fake.Requests()); n != 1 {
			t.Errorf("asked %d times", n)
		}
		clock.move(11 * time.Minute)
		if _, err := d.Search(t.Context(), hostedtest.Secret, "Writes"); err != nil || len(fake.Requests()) != 2 {
			t.Errorf("asked %d times, %v", len(fake.Requests()), err)
		}
		clock.move(11 * time.Minute)
		down(fake)
		found, err := d.Search(t.Context(), hostedtest.Secret, "writes")
		if err != nil || !has(found, "acme/writer") {
			t.Errorf("%+v, %v", found, err)
		}
		n := len(fake.Requests())
		if _, err := d.Search(t.Context(), hostedtest.Secret, "writes"); err != nil || len(fake.Requests()) != n {
			t.Errorf("a failing platform was asked again at once: %v", err)
		}
		clock.move(25 * time.Hour)
		found, err = d.Search(t.Context(), hostedtest.Secret, "flux")
		if wantError(t, err, providers.ClassUnavailable); !has(found, "black-forest-labs/flux-dev") {
			t.Error("the shipped models are missing")
		}
		_, err = d.Search(t.Context(), hostedtest.Secret, "writes")
		wantError(t, err, providers.ClassUnavailable)
	})
	t.Run("keeps nothing of one secret for another", func(t *testing.T) {
		t.Parallel()
		d, _, _ := directory(t)
		if _, err := d.Search(t.Context(), hostedtest.Secret, "writes"); err != nil {
			t.Fatal(err)
		}
		_, err := d.Search(t.Context(), "another", "writes")
		wantError(t, err, providers.ClassAuth)
	})
	t.Run("asks once for many", func(t *testing.T) {
		t.Parallel()
		d, fake, _ := directory(t)
		began, release := make(chan struct{}), make(chan struct{})
		fake.Fail(hostedtest.Fault{Do: func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-release
			_, _ = w.Write([]byte(`{"models":[]}`))
		}})
		first, giveUp := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { _, err := d.Search(first, hostedtest.Secret, "many"); gaveUp <- err }()
		<-began
		giveUp() // the fetch continues for the others
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := d.Search(t.Context(), hostedtest.Secret, "many"); err != nil {
					t.Error(err)
				}
			})
		}
		close(release)
		wg.Wait()
		if n := len(fake.Requests()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	t.Run("answers from the catalog without a secret", func(t *testing.T) {
		t.Parallel()
		d, _, _ := directory(t)
		m, err := d.Resolve(t.Context(), "", "https://replicate.com/openai/whisper")
		if err != nil || m.Title != "Whisper" || m.Input == nil || len(m.Version) != 64 {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("says how to add a credential for the rest", func(t *testing.T) {
		t.Parallel()
		d, _, _ := directory(t)
		for _, text := range []string{"google/veo-3", "acme/echo"} {
			_, err := d.Resolve(t.Context(), "", text)
			if e := wantError(t, err, providers.ClassAuth); !strings.Contains(e.Message, "sluice credential add --name replicate --provider replicate") {
				t.Error(e.Message)
			}
		}
	})
	t.Run("asks the platform with a secret", func(t *testing.T) {
		t.Parallel()
		d, fake, _ := directory(t)
		fake.AddModel(hostedtest.Model{Owner: "google", Name: "veo-3", Description: "theirs", Official: true,
			Schemas: map[string]any{"Input": map[string]any{"type": "object", "properties": map[string]any{"prompt": map[string]any{"type": "string"}}}}})
		for range 2 {
			m, err := d.Resolve(t.Context(), hostedtest.Secret, "google/veo-3")
			if err != nil || m.Title != "Veo 3" || m.Description == "theirs" || !m.Official || m.Version != hostedtest.Version("google", "veo-3") {
				t.Errorf("%+v, %v", m, err)
			}
		}
		m, err := d.Resolve(t.Context(), hostedtest.Secret, echo().String())
		if err != nil || m.Ref != echo() || len(fake.Requests()) != 2 {
			t.Errorf("%+v, %v after %d requests", m, err, len(fake.Requests()))
		}
	})
	t.Run("falls back to the catalog while the platform is down", func(t *testing.T) {
		t.Parallel()
		d, fake, _ := directory(t)
		down(fake)
		if m, err := d.Resolve(t.Context(), hostedtest.Secret, "openai/whisper"); err != nil || m.Input == nil {
			t.Errorf("%+v, %v", m, err)
		}
		_, err := d.Resolve(t.Context(), hostedtest.Secret, "acme/echo")
		wantError(t, err, providers.ClassUnavailable)
	})
	t.Run("passes on what the platform refuses", func(t *testing.T) {
		t.Parallel()
		d, _, _ := directory(t)
		_, err := d.Resolve(t.Context(), hostedtest.Secret, "acme/nothing")
		wantError(t, err, providers.ClassNotFound)
		_, err = d.Resolve(t.Context(), "wrong", "openai/whisper")
		wantError(t, err, providers.ClassAuth)
		_, err = d.Resolve(t.Context(), "", "nonsense")
		wantError(t, err, providers.ClassBadRequest)
	})
}
