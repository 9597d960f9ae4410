package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

const speakDocument = `{"schema": "sluice.flow/v1", "name": "Speak", "nodes": [
	{"id": "voice", "kind": "input", "config": {"name": "voice"}},
	{"id": "write", "kind": "speak", "retry": {"attempts": 2, "backoff_s": 0}, "config": {}},
	{"id": "answer", "kind": "output", "config": {"name": "answer"}}],
	"edges": [{"from": "voice.value", "to": "write.value"}, {"from": "write.value", "to": "answer.value"}]}`

const (
	begun1 = `step {"path":"write","state":"running","attempt":1}`
	begun2 = `step {"path":"write","state":"running","attempt":2}`
	retry1 = `step {"path":"write","state":"retrying","attempt":1}`
	ended1 = `step {"path":"write","state":"succeeded","attempt":1}`
)

// until reads up to the event that is wanted and returns those before it that
// are about the node write.
func (s *stream) until(want string) (before []string) {
	s.t.Helper()
	for e, ok := s.next(); ok; e, ok = s.next() {
		got := e.name + " " + e.data
		if got == want {
			return before
		}
		if strings.Contains(e.data, `"path":"write"`) {
			before = append(before, got)
		}
		if e.name == "delta" && e.id != 0 {
			s.t.Errorf("%s has the number %d", got, e.id)
		}
	}
	s.t.Fatalf("the stream ended without %s, after %q", want, before)
	return nil
}

func delta(text, more string) string {
	return `delta {"path":"write","text":"` + text + `"` + more + `}`
}

// speaking starts a run that emits the text of the voice with the given name.
func (w *env) speaking(voice string) (s *stream, say chan string, path string) {
	w.t.Helper()
	s = w.stream(request{method: "POST", path: "/v1/flow/" + w.addFlow("default", speakDocument) + "/run", body: `{"voice": "` + voice + `"}`})
	return s, w.gates.voice(voice), s.resp.Header.Get("Location")
}

func wantBefore(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("before it came %q, wanted %q", got, want)
	}
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.textInterval = 0
	s, say, _ := w.speaking("v")
	say <- "Hel"
	wantBefore(t, s.until(delta("Hel", "")), begun1)
	say <- "lo\n"
	wantBefore(t, s.until(delta(`lo\n`, "")))
	say <- "you"
	close(say) // the remaining text comes before the end of the step
	wantBefore(t, s.until(ended1), delta("you", ""))
	rest := s.rest()
	if last := rest[len(rest)-1]; last.name != "run" || !strings.Contains(last.data, `"status":"succeeded"`) {
		t.Errorf("the last event is %v", last)
	}
}

func TestDeltas_give_a_late_client_earlier_text(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first, say, path := w.speaking("v")
	say <- "Hel"
	first.until(delta("Hel", ""))
	late := w.stream(request{method: "GET", path: path + "/events"})
	wantBefore(t, late.until(delta("Hel", `,"reset":true`)), begun1)
	last := w.stream(request{method: "GET", path: path + "/events", headers: []string{"Last-Event-ID", "100"}})
	wantBefore(t, last.until(delta("Hel", `,"reset":true`)))
	say <- "lo"
	for _, s := range []*stream{first, late, last} {
		wantBefore(t, s.until(delta("lo", "")))
	}
	close(say)
	first.rest()
	for _, e := range w.stream(request{method: "GET", path: path + "/events"}).rest() {
		if e.name == "delta" {
			t.Errorf("an ended run still says %s", e.data)
		}
	}
}

func TestDeltas_reset_on_a_new_attempt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	s, say, _ := w.speaking("v")
	say <- "wrong"
	s.until(delta("wrong", ""))
	say <- "!"
	say <- "right"
	before := s.until(delta("right", `,"reset":true`))
	if i := slices.Index(before, begun2); i < 0 || i != len(before)-1 || i > 1 || i == 1 && before[0] != retry1 {
		t.Errorf("before the new attempt came %q", before)
	}
	close(say)
	s.rest()
}

// TestDeltas_do_not_wait_for_a_read checks that text is sent while reads are paused.
func TestDeltas_do_not_wait_for_a_read(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.ReadInterval, w.server.textInterval = time.Hour, 0
	s, say, path := w.speaking("v")
	// The first read may precede the start of the step. Then the first text triggers
	// another read.
	say <- "one"
	s.until(delta("one", ""))
	asked := w.askedForKeys()
	for range 5 {
		say <- "more"
		s.until(delta("more", ""))
	}
	if n := w.askedForKeys() - asked; n != 0 {
		t.Errorf("for five texts the key was looked at %d times", n)
	}
	w.post(path+"/cancel", "").want(t, http.StatusOK)
}

func (w *env) askedForKeys() int {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return len(w.store.asked)
}

func TestDeltas_are_batched(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.textInterval = time.Hour // the end of the step does not wait for it
	s, say, _ := w.speaking("v")
	say <- "one"
	s.until(delta("one", ""))
	reads := w.runner.reads.Load()
	for range 100 {
		say <- "x"
	}
	close(say)
	text := ""
	for _, d := range s.until(ended1) {
		d, _ = strings.CutPrefix(d, `delta {"path":"write","text":"`)
		text += strings.TrimSuffix(d, `"}`)
	}
	if want := strings.Repeat("x", 100); text != want {
		t.Errorf("gathered %q", text)
	}
	s.rest()
	// Reads at the start and end of the step and at the end of the run are allowed.
	if n := w.runner.reads.Load() - reads; n > 4 {
		t.Errorf("a hundred texts were read in %d goes", n)
	}
}

func TestDeltas_stop_when_the_key_is_revoked(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*flow.Key, time.Time){
		"revoked": func(k *flow.Key, now time.Time) { k.RevokedAt = now },
		"expired": func(k *flow.Key, now time.Time) { k.ExpiresAt = now },
		"rotated": func(k *flow.Key, now time.Time) {
			k.Previous = flow.PreviousSecret{Prefix: "slu_before", Hash: k.Hash, Until: now}
			k.Hash = "another"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.server.ReadInterval, w.server.textInterval, w.server.keyMaxAge = time.Hour, 0, 0
			s, say, _ := w.speaking("v")
			say <- "one"
			s.until(delta("one", ""))
			w.store.mu.Lock()
			end(w.store.keys[flow.Hash([]byte(w.key))], time.Now())
			w.store.mu.Unlock()
			say <- "secret"
			for _, e := range s.rest() {
				if e.name == "delta" {
					t.Errorf("the key received %s", e.data)
				}
			}
		})
	}
}
