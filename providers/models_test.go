package providers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, provider, answer string
		want                   []Model
	}{
		{"OpenAI", "openai", `{"object":"list","data":[{"id":"gpt-x","object":"model","owned_by":"openai"},{"id":"","object":"model"}]}`, []Model{{ID: "gpt-x", Owner: "openai"}}},
		{"Together", "together", `[{"id":"meta/llama","display_name":"Llama","organization":"Meta"}]`, []Model{{ID: "meta/llama", Title: "Llama", Owner: "Meta"}}},
		{"Gemini", "gemini", `{"object":"list","data":[{"id":"models/gemini-x","owned_by":"google"}]}`, []Model{{ID: "gemini-x", Owner: "google"}}},
		{"Ollama", "ollama", `{"object":"list","data":[{"id":"llama3:8b","object":"model","owned_by":"library"}]}`, []Model{{ID: "llama3:8b", Owner: "library"}}},
		{"Ollama, empty", "ollama", `{"object":"list","data":null}`, []Model{}},
		{"another", "openai_compatible", `{"models":[{"name":"x"}]}`, []Model{{ID: "x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, c.answer) })
			got, err := u.client.Models(brief(t), u.at(c.provider))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			if sent := u.last(t); sent.method != "GET" || sent.path != "/v1/models" || len(sent.body) > 0 {
				t.Errorf("asked %+v", sent)
			}
		})
	}
}

func TestModelsInPages(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after_id") == "" {
			answerJSON(w, `{"data":[{"id":"claude-1","display_name":"Claude 1"}],"has_more":true,"last_id":"claude-1"}`)
			return
		}
		answerJSON(w, `{"data":[{"id":"claude-2"}],"has_more":true,"last_id":"`+r.URL.Query().Get("after_id")+`"}`)
	})
	got, err := u.client.Models(brief(t), u.at("anthropic"))
	if err != nil || !reflect.DeepEqual(got, []Model{{ID: "claude-1", Title: "Claude 1"}, {ID: "claude-2"}}) || len(u.asked()) != 2 {
		t.Fatalf("got %+v after %d calls, %v", got, len(u.asked()), err)
	}
	if q := u.last(t).query; q != "after_id=claude-1&limit=1000" {
		t.Errorf("asked for %q", q)
	}
}

func TestModelsAreBounded(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic"} {
		var page atomic.Int64
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			last := itoa(int(page.Add(1)))
			answerJSON(w, `{"data":[`+strings.Repeat(`{"id":"x"},`, 6000)+`{"id":"y"}],"has_more":true,"last_id":"`+last+`"}`)
		})
		if provider == "openai" {
			u.Close()
			u = setup(t, func(w http.ResponseWriter, _ *http.Request) {
				answerJSON(w, `{"data":[`+strings.Repeat(`{"id":"x"},`, 20_000)+`{"id":"y"}]}`)
			})
		}
		if got, err := u.client.Models(brief(t), u.at(provider)); err != nil || len(got) != maxModels {
			t.Errorf("%s: got %d, %v", provider, len(got), err)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	list := []Model{{ID: "meta-llama/llama-3-70b", Owner: "Meta"}, {ID: "x/codellama", Title: "Code Llama 3"}, {ID: "llama"}, {ID: "gpt-x", Title: "GPT X"}}
	for query, want := range map[string][]string{
		"llama":   {"llama", "meta-llama/llama-3-70b", "x/codellama"},
		"LLAMA 3": {"meta-llama/llama-3-70b", "x/codellama"},
		"meta":    {"meta-llama/llama-3-70b"},
		"gpt x":   {"gpt-x"},
		"nothing": nil,
		" ":       {"meta-llama/llama-3-70b", "x/codellama", "llama", "gpt-x"},
	} {
		var got []string
		for _, m := range Search(list, query) {
			got = append(got, m.ID)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, wanted %v", query, got, want)
		}
	}
}

func TestModelCache(t *testing.T) {
	t.Parallel()
	t.Run("asks once for many, and again after ten minutes", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			<-release
			answerJSON(w, `{"data":[{"id":"a"}]}`)
		})
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		cache := NewModelCache(u.client)
		cache.now = func() time.Time { return now }
		impatient, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := cache.Models(impatient, u.at("openai")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got, err := cache.Models(brief(t), u.at("openai")); err != nil || len(got) != 1 {
					t.Errorf("got %v, %v", got, err)
				} else {
					got[0].ID = "changed"
				}
			})
		}
		close(release)
		all.Wait()
		if got, err := cache.Models(brief(t), u.at("openai")); err != nil || got[0].ID != "a" || len(u.asked()) != 1 {
			t.Errorf("got %v after %d calls, %v", got, len(u.asked()), err)
		}
		now = now.Add(modelsKept)
		if _, err := cache.Models(brief(t), u.at("openai")); err != nil || len(u.asked()) != 2 {
			t.Errorf("asked %d times, %v", len(u.asked()), err)
		}
	})
	t.Run("keeps no errors, and apart what secrets see", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				refuse(401, "x", "Who are you?")(w, r)
				return
			}
			answerJSON(w, `{"data":[{"id":"a"}]}`)
		})
		cache := NewModelCache(u.client)
		at := u.at("openai")
		at.Secret = ""
		for range 2 {
			_, err := cache.Models(brief(t), at)
			failure(t, err)
		}
		if _, err := cache.Models(brief(t), u.at("openai")); err != nil || len(u.asked()) != 3 {
			t.Errorf("asked %d times, %v", len(u.asked()), err)
		}
		for _, key := range cache.lists.Keys() {
			if strings.Contains(key, secret) {
				t.Error("the secret is a key of the cache")
			}
		}
	})
}

func TestTest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, provider, path string
		status               int
		answer               string
		ok                   bool
	}{
		{"by the list", "openai", "/v1/models", 200, `{"data":[]}`, true},
		{"by the list, refused", "openai", "/v1/models", 401, `{}`, false},
		{"by Anthropic's list", "anthropic", "/v1/models", 200, `{"data":[]}`, true},
		{"by a page of its own", "openrouter", "/v1/key", 200, `{"data":{"label":"x"}}`, true},
		{"by a page of its own, refused", "openrouter", "/v1/key", 401, `{"error":{"message":"No"}}`, false},
		{"by knocking", "perplexity", "/v1/chat/completions", 400, `{"error":{"message":"messages missing"}}`, true},
		{"by knocking, refused", "perplexity", "/v1/chat/completions", 401, `{}`, false},
		{"by knocking where there is no list", "openai_compatible", "/v1/chat/completions", 422, `{}`, true},
		{"by the account", "replicate", "/v1/account", 200, `{"username":"x"}`, true},
		{"by the account, refused", "replicate", "/v1/account", 401, `{"title":"Unauthenticated"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.path {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			})
			_, err := u.client.Test(brief(t), u.at(c.provider))
			if c.ok && err != nil {
				t.Errorf("got %v", err)
			}
			if !c.ok {
				if e := failure(t, err); e.Class != ClassAuth {
					t.Errorf("got %+v", e)
				}
			}
		})
	}
}

func TestNewestFirst_orders_each_family_by_version(t *testing.T) {
	t.Parallel()
	ids := func(models []Model) (list []string) {
		for _, m := range models {
			list = append(list, m.ID)
		}
		return list
	}
	undated := []Model{{ID: "gpt-4.1-mini"}, {ID: "claude-sonnet-4"}, {ID: "gpt-5-mini"}, {ID: "claude-sonnet-4-5"}, {ID: "gpt-4o"}, {ID: "claude-haiku-3-5"}}
	NewestFirst(undated)
	if got, want := ids(undated), []string{"gpt-5-mini", "gpt-4.1-mini", "claude-sonnet-4-5", "claude-sonnet-4", "gpt-4o", "claude-haiku-3-5"}; !slices.Equal(got, want) {
		t.Errorf("by version: %q, want %q", got, want)
	}
	dated := []Model{{ID: "a", Created: 1}, {ID: "b", Created: 3}, {ID: "c", Created: 2}}
	NewestFirst(dated)
	if got, want := ids(dated), []string{"b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("by time: %q, want %q", got, want)
	}
}
