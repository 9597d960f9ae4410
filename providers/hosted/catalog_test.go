package hosted_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/providers/hosted"
)

func TestCatalog(t *testing.T) {
	t.Parallel()
	c := hosted.Catalog()
	t.Run("is complete", func(t *testing.T) {
		t.Parallel()
		outputs := []string{"text", "image", "video", "audio", "file", "json"}
		seen, withSchema := map[string]bool{}, 0
		for _, category := range c.Categories() {
			models := c.Models(category.Slug)
			if category.Title == "" || !strings.HasSuffix(category.Description, ".") || len(models) == 0 {
				t.Errorf("%s: %q, %q, %d models", category.Slug, category.Title, category.Description, len(models))
			}
			for _, l := range models {
				id := l.Owner + "/" + l.Name
				if seen[id] || l.Title == "" || !strings.HasSuffix(l.Description, ".") || len(l.Description) > 120 || !slices.Contains(outputs, l.Output) {
					t.Errorf("%s: twice or not complete: %+v", id, l)
				}
				seen[id] = true
				m, ok := c.Find(hosted.Ref{Owner: l.Owner, Name: l.Name})
				if !ok || m.Title != l.Title {
					t.Errorf("%s is not found", id)
				}
				if m.Input == nil {
					continue
				}
				withSchema++
				checkShipped(t, id, m, l)
			}
		}
		if len(c.Categories()) < 12 || len(seen) < 50 || withSchema < 50 {
			t.Errorf("%d categories, %d models, %d with a schema", len(c.Categories()), len(seen), withSchema)
		}
	})
	t.Run("finds", func(t *testing.T) {
		t.Parallel()
		for query, want := range map[string]string{
			"upscale": "philz1337x/clarity-upscaler", "flux": "black-forest-labs/flux-schnell", "FLUX pro": "black-forest-labs/flux-1.1-pro",
			"speech to text": "openai/whisper", "remove background": "851-labs/background-remover", "video": "topazlabs/video-upscale",
			"videos": "google/veo-3", "whisper": "openai/whisper", "transcribe": "openai/whisper", "voice cloning": "lucataco/xtts-v2", "moderate image": "falcons-ai/nsfw_image_detection",
			"pdf": "datalab-to/ocr", "logo svg": "recraft-ai/recraft-v3-svg", "meta music": "meta/musicgen", "embedding search": "beautyyuyanli/multilingual-e5-large",
		} {
			found := c.Search(query)
			if !slices.ContainsFunc(found[:min(len(found), 5)], func(l hosted.Listing) bool { return l.Owner+"/"+l.Name == want }) {
				t.Errorf("%q: %s is not among the first five: %+v", query, want, found)
			}
		}
		for _, query := range []string{"", "  ", "flux whisper", "zzz", "art"} {
			if found := c.Search(query); query != "art" && len(found) > 0 {
				t.Errorf("%q found %d", query, len(found))
			}
		}
		if found := c.Search("video"); len(found) < 8 {
			t.Errorf("video found only %d", len(found))
		}
	})
	t.Run("ranks the name above the rest", func(t *testing.T) {
		t.Parallel()
		found := c.Search("flux")
		for i, l := range found {
			if named := strings.Contains(l.Name, "flux"); i < 5 && !named {
				t.Errorf("place %d: %s", i, l.Name)
			}
		}
	})
	t.Run("knows no other versions", func(t *testing.T) {
		t.Parallel()
		if _, ok := c.Find(hosted.Ref{Owner: "openai", Name: "whisper", Version: strings.Repeat("0", 64)}); ok {
			t.Error("found a version that is not shipped")
		}
		if _, ok := c.Find(hosted.Ref{Owner: "OpenAI", Name: "Whisper"}); !ok {
			t.Error("names are not compared like the platform does")
		}
	})
}

// checkShipped makes the form of a shipped schema and compares what the list
// says of the output with it.
func checkShipped(t *testing.T, id string, m *hosted.Model, l hosted.Listing) {
	t.Helper()
	f := hosted.NewForm(m)
	if f.Incompatible != "" || len(f.Fields) == 0 || m.Version == "" {
		t.Errorf("%s: %q, %d fields, version %q", id, f.Incompatible, len(f.Fields), m.Version)
	}
	for _, field := range f.Fields {
		if field.Widget == hosted.WidgetJSON || field.Title == "" {
			t.Errorf("%s: %s has no fitting field", id, field.Name)
		}
	}
	file := f.Output.Type == hosted.OutputFile || f.Output.Type == hosted.OutputFiles
	media := l.Output == "image" || l.Output == "video" || l.Output == "audio" || l.Output == "file"
	text := f.Output.Type == hosted.OutputText
	if file && !media || text != (l.Output == "text") {
		t.Errorf("%s is listed with the output %s but has %s", id, l.Output, f.Output.Type)
	}
}
