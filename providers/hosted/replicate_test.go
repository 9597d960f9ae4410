package hosted_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

func TestPrediction(t *testing.T) {
	t.Parallel()
	t.Run("gives the answer at once when it waits", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.OnPredict("acme", "echo", func(map[string]any) hostedtest.Script {
			return hostedtest.Script{Output: []any{1, "two"}, PredictTime: 1.5, InputTokens: 7, OutputTokens: 9, Logs: "step 1\nstep 2\n"}
		})
		r := hello()
		r.Wait, r.CancelAfter = 2500*time.Millisecond, 10*time.Minute
		p, err := client.Start(t.Context(), hostedtest.Secret, r)
		if err != nil {
			t.Fatal(err)
		}
		if p.State != hosted.StateSucceeded || p.Seconds != 1.5 || p.InputTokens != 7 || p.OutputTokens != 9 || p.LastLog != "step 2" || p.WebURL != "https://replicate.com/p/"+p.ID {
			t.Errorf("got %+v", p)
		}
		if want := []any{json.Number("1"), "two"}; !reflect.DeepEqual(p.Output, want) {
			t.Errorf("output %v, wanted %v", p.Output, want)
		}
		seen := fake.Requests()[0]
		if seen.Header.Get("Prefer") != "wait=3" || seen.Header.Get("Cancel-After") != "600s" {
			t.Errorf("headers %v", seen.Header)
		}
		if want := `{"input":{"prompt":"hello"},"version":"` + echo().String() + `"}`; string(seen.Body) != want {
			t.Errorf("sent %s, wanted %s", seen.Body, want)
		}
	})
	t.Run("runs official models by name", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		r := hosted.StartRequest{Ref: hosted.Ref{Owner: "acme", Name: "house", Version: hostedtest.Version("acme", "house")},
			Official: true, Input: map[string]any{"prompt": "hi"}}
		p, err := client.Start(t.Context(), hostedtest.Secret, r)
		if err != nil || p.Output != "hi" {
			t.Fatalf("got %+v, %v", p, err)
		}
		if body := string(fake.Requests()[0].Body); !strings.Contains(body, `"version":"acme/house"`) {
			t.Errorf("sent %s", body)
		}
	})
	t.Run("is polled to its end", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		r := hello()
		r.Input["prompt"] = "slow"
		p, err := client.Start(t.Context(), hostedtest.Secret, r)
		var states []hosted.State
		for err == nil && !p.State.Ended() {
			states = append(states, p.State)
			p, err = client.Poll(t.Context(), hostedtest.Secret, p.ID)
		}
		if want := []hosted.State{"starting", "processing", "processing"}; err != nil || !reflect.DeepEqual(states, want) || p.Output != "at last" {
			t.Errorf("states %v, then %+v, %v", states, p, err)
		}
	})
	t.Run("is not over when the wait is", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Second = time.Millisecond
		r := hello()
		r.Input["prompt"], r.Wait = "held", time.Second
		p, err := client.Start(t.Context(), hostedtest.Secret, r)
		if err != nil || p.State != hosted.StateStarting {
			t.Fatalf("got %+v, %v", p, err)
		}
	})
	t.Run("ends when it is canceled while polled", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		r := hello()
		r.Input["prompt"] = "held"
		p, err := client.Start(t.Context(), hostedtest.Secret, r)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second finds it ended
			if err := client.Cancel(t.Context(), hostedtest.Secret, p.ID); err != nil {
				t.Fatal(err)
			}
		}
		p, err = client.Poll(t.Context(), hostedtest.Secret, p.ID)
		if err != nil || p.State != hosted.StateCanceled || fake.State(p.ID) != "canceled" {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("may be refused its cancel when it has ended", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		p, err := client.Start(t.Context(), hostedtest.Secret, hello())
		if err != nil {
			t.Fatal(err)
		}
		fake.Fail(hostedtest.Fault{Method: "POST", Status: 422, Body: `{"detail":"The prediction has ended."}`})
		if err := client.Cancel(t.Context(), hostedtest.Secret, p.ID); err != nil {
			t.Error(err)
		}
	})
	t.Run("is aborted when its time is over before it began", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Second = time.Microsecond
		r := hello()
		r.Input["prompt"], r.CancelAfter = "held", time.Second
		p, err := client.Start(t.Context(), hostedtest.Secret, r)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return fake.State(p.ID) == "aborted" })
		p, err = client.Poll(t.Context(), hostedtest.Secret, p.ID)
		if err != nil || p.State != hosted.StateAborted || !p.State.Ended() {
			t.Errorf("got %+v, %v", p, err)
		}
		if got := fake.Requests()[0].Header.Get("Cancel-After"); got != "5s" {
			t.Errorf("Cancel-After %q, wanted the platform's least", got)
		}
	})
	t.Run("keeps a state nobody knows open", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.OnPredict("acme", "echo", func(map[string]any) hostedtest.Script { return hostedtest.Script{Polls: 9} })
		fake.Fail(respond(201, nil, `{"id":"x","status":"queued_elsewhere","error":{"detail":"odd"},"metrics":null,"logs":null,"urls":{}}`))
		p, err := client.Start(t.Context(), hostedtest.Secret, hello())
		if err != nil || p.State.Ended() || p.State != "queued_elsewhere" || p.Error != "odd" {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("tells when its output is gone", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		p, err := client.Start(t.Context(), hostedtest.Secret, hello())
		if err != nil || p.Purged {
			t.Fatalf("got %+v, %v", p, err)
		}
		fake.Purge(p.ID)
		p, err = client.Poll(t.Context(), hostedtest.Secret, p.ID)
		if err != nil || !p.Purged || p.State != hosted.StateSucceeded || p.Output != nil {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("keeps the model's own sentence and the end of its logs", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.OnPredict("acme", "echo", func(map[string]any) hostedtest.Script {
			return hostedtest.Script{State: "failed", Error: "CUDA out of memory " + hostedtest.Secret, Logs: strings.Repeat("x", 50_000) + "\n 1%|\r99%| last " + hostedtest.Secret + "\n\n"}
		})
		p, err := client.Start(t.Context(), hostedtest.Secret, hello())
		if err != nil || p.State != hosted.StateFailed || p.Error != "CUDA out of memory [secret]" || p.LastLog != "99%| last [secret]" {
			t.Errorf("got %s %q %q, %v", p.State, p.Error, p.LastLog, err)
		}
	})
}

// waitFor polls a condition for at most ten seconds.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen within ten seconds")
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// TestFaults walks through what can go wrong with a call that starts a
// prediction (paid, sent again only when turned away) and with one that reads.
func TestFaults(t *testing.T) {
	t.Parallel()
	problem := func(status int, title, detail string) hostedtest.Fault {
		body, _ := json.Marshal(map[string]any{"title": title, "detail": detail, "status": status})
		return respond(status, nil, string(body))
	}
	for _, c := range []struct {
		name      string
		fault     hostedtest.Fault
		class     providers.ErrorClass
		says      string
		retryable bool
		after     time.Duration
		starts    int // how often a start is sent
		reads     int
	}{
		{"401", problem(401, "Unauthenticated", "You did not pass a valid authentication token"), providers.ClassAuth,
			"Replicate refused the credential. You did not pass a valid authentication token.", false, 0, 1, 1},
		{"402", problem(402, "Insufficient credit", "You have insufficient credit to run this model."), providers.ClassRejected,
			"Replicate needs billing. You have insufficient credit to run this model.", false, 0, 1, 1},
		{"404", problem(404, "Not found", "The requested resource could not be found."), providers.ClassNotFound,
			"Replicate does not know the ", false, 0, 1, 1},
		{"422", problem(422, "Input validation failed", "- input.width: Must be less than or equal to 1440\n"), providers.ClassRejected,
			"Replicate refused the request. - input.width: Must be less than or equal to 1440.", false, 0, 1, 1},
		{"429 with Retry-After", respond(429, http.Header{"Retry-After": {"2"}}, `{"detail":"Request was throttled.","status":429}`),
			providers.ClassRateLimited, "Request was throttled.", true, 2 * time.Second, 3, 3},
		{"429 with the time in words", respond(429, nil, `{"detail":"Request was throttled. Your rate limit resets in ~9s.","status":429}`),
			providers.ClassRateLimited, "resets in ~9s.", true, 9 * time.Second, 3, 3},
		{"429 with a long time", respond(429, http.Header{"Retry-After": {"60"}}, `{}`), providers.ClassRateLimited,
			"Replicate's rate limit is reached.", true, time.Minute, 1, 1},
		{"429 without any time", respond(429, nil, ``), providers.ClassRateLimited, "Replicate's rate limit is reached", true, 0, 3, 3},
		{"500", respond(500, http.Header{"X-Request-Id": {"req-1"}}, `<html>`), providers.ClassUnavailable, "Replicate is unavailable (500).", true, 0, 1, 3},
		{"502 with words", problem(502, "Bad gateway", "Upstream failed"), providers.ClassUnavailable, "Upstream failed.", true, 0, 1, 3},
		{"a redirect", respond(302, http.Header{"Location": {"https://example.com/"}}, ``), providers.ClassBadAnswer, "unexpected status (302)", false, 0, 1, 1},
		{"no JSON", respond(200, nil, `hello`), providers.ClassBadAnswer, "not the JSON it documents", false, 0, 1, 1},
		{"no ID", respond(200, nil, `{"status":"starting"}`), providers.ClassBadAnswer, "without the ID", false, 0, 1, 1},
		{"reset in the middle", hostedtest.Fault{Status: 200, Header: http.Header{"Content-Length": {"1000"}}, Body: `{"id":"x","sta`, Break: true},
			providers.ClassUnavailable, "broke off", true, 0, 1, 1},
	} {
		for _, call := range []struct {
			name string
			do   func(*hosted.Replicate, context.Context) error
			want int
		}{
			{"start", func(p *hosted.Replicate, ctx context.Context) error {
				_, err := p.Start(ctx, hostedtest.Secret, hello())
				return err
			}, c.starts},
			{"poll", func(p *hosted.Replicate, ctx context.Context) error {
				_, err := p.Poll(ctx, hostedtest.Secret, "someid")
				return err
			}, c.reads},
		} {
			t.Run(c.name+"/"+call.name, func(t *testing.T) {
				t.Parallel()
				fake, client, waits := setup(t)
				fault := c.fault
				fault.Times = 10
				fake.Fail(fault)
				e := wantError(t, call.do(client, t.Context()), c.class)
				if !strings.Contains(e.Message, c.says) || e.Retryable != c.retryable || e.After != c.after {
					t.Errorf("got %q, retryable %v after %v", e.Message, e.Retryable, e.After)
				}
				if n := len(fake.Requests()); n != call.want {
					t.Errorf("sent %d times, wanted %d", n, call.want)
				}
				for _, w := range *waits {
					if w > 10*time.Second || c.after > 0 && w < c.after {
						t.Errorf("waited %v between tries", w)
					}
				}
				if fault.Header.Get("X-Request-Id") != e.RequestID {
					t.Errorf("request ID %q", e.RequestID)
				}
				if fake.Created() != 0 {
					t.Error("a prediction was created")
				}
			})
		}
	}
}

func TestReplicate(t *testing.T) {
	t.Parallel()
	t.Run("continues after transient faults and creates one prediction", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Throttle(2, "~1s", "")
		p, err := client.Start(t.Context(), hostedtest.Secret, hello())
		if err != nil || fake.Created() != 1 {
			t.Fatalf("%v, created %d", err, fake.Created())
		}
		fake.Fail(hostedtest.Fault{Times: 2, Status: 503})
		if _, err := client.Poll(t.Context(), hostedtest.Secret, p.ID); err != nil {
			t.Error(err)
		}
	})
	t.Run("never repeats the secret", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		for _, status := range []int{400, 401, 402, 404, 422, 500} {
			fake.Fail(respond(status, nil, `{"detail":"bad token `+hostedtest.Secret+`"}`))
			_, err := client.Start(t.Context(), hostedtest.Secret, hello())
			if err == nil || strings.Contains(err.Error(), hostedtest.Secret) || !strings.Contains(err.Error(), "[secret]") {
				t.Errorf("%d: %v", status, err)
			}
		}
	})
	t.Run("asks for a secret before it sends anything", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		_, err := client.Start(t.Context(), "", hello())
		if e := wantError(t, err, providers.ClassAuth); !strings.Contains(e.Message, "REPLICATE_API_TOKEN") || len(fake.Requests()) != 0 {
			t.Errorf("%q after %d requests", e.Message, len(fake.Requests()))
		}
	})
	t.Run("says whose the secret is", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		if name, err := client.Account(t.Context(), hostedtest.Secret); err != nil || name != "acme" {
			t.Errorf("%q, %v", name, err)
		}
		_, err := client.Account(t.Context(), "wrong")
		wantError(t, err, providers.ClassAuth)
	})
	t.Run("reads no answer of any size", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		hosted.SetMaxAnswer(client, 1<<16)
		var sent atomic.Int64
		fake.Fail(hostedtest.Fault{Do: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"id":"x","logs":"`))
			for block := []byte(strings.Repeat("x", 1<<16)); sent.Load() < 10<<30; sent.Add(int64(len(block))) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}})
		_, err := client.Poll(t.Context(), hostedtest.Secret, "someid")
		wantError(t, err, providers.ClassTooLarge)
		if n := sent.Load(); n > 64<<20 {
			t.Errorf("%d bytes went out before it hung up", n)
		}
	})
	t.Run("waits for no answer that comes byte by byte", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		hosted.SetTimeout(client, 50*time.Millisecond)
		fake.Fail(hostedtest.Fault{Do: func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				<-tick.C
			}
		}})
		_, err := client.Poll(t.Context(), hostedtest.Secret, "someid")
		if e := wantError(t, err, providers.ClassUnavailable); !e.Retryable || !strings.Contains(e.Message, "in time") {
			t.Errorf("%+v", e)
		}
	})
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		began := make(chan struct{})
		fake.Fail(hostedtest.Fault{Do: func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"id":`)) // one byte a second would go on like this
			_ = http.NewResponseController(w).Flush()
			close(began)
			<-r.Context().Done()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		_, err := client.Poll(ctx, hostedtest.Secret, "someid")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("does not wait longer than its context", func(t *testing.T) {
		t.Parallel()
		fake := hostedtest.New(t)
		client, _ := newClient(t, fake.URL, 1)
		ctx, cancel := context.WithCancel(t.Context())
		hosted.SetPause(client, func(ctx context.Context, _ time.Duration) error { cancel(); <-ctx.Done(); return ctx.Err() })
		fake.Throttle(9, "~5s", "")
		if _, err := client.Poll(ctx, hostedtest.Secret, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("is stopped by the guard", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		_, err := client.Fetch(t.Context(), hostedtest.Secret, "http://169.254.169.254/latest/meta-data")
		wantError(t, err, providers.ClassBlocked)
	})
	t.Run("escapes what it puts into addresses", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		_, _ = client.Poll(t.Context(), hostedtest.Secret, "../account?x=")
		if got := fake.Requests()[0].Path; !strings.HasPrefix(got, "/v1/predictions/") {
			t.Errorf("asked for %s", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]time.Duration{
		"Request was throttled. Your rate limit resets in ~30s.":      30 * time.Second,
		"Request was throttled. Expected available in 1 second.":      time.Second,
		"Request was throttled. Expected available in 12 seconds.":    12 * time.Second,
		"Your rate limit for creating predictions resets in ~0.5s.":   500 * time.Millisecond,
		"Limited to 6 requests per minute until you add billing data": 0,
		"": 0,
	} {
		if got := hosted.RetryAfter(words); got != want {
			t.Errorf("%q: %v, wanted %v", words, got, want)
		}
	}
}
