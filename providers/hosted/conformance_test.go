package hosted_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

// TestReplicate_judges_errors sends errors with the status 200, as gateways do: each means the
// same as with its own status, and costs nothing.
func TestReplicate_judges_errors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		class      providers.ErrorClass
		retryable  bool
		says       string
	}{
		{"the platform's", `{"title":"Unauthenticated","detail":"You did not pass a valid authentication token","status":401}`, providers.ClassAuth, false, "valid authentication token"},
		{"without a status", `{"detail":"Invalid token."}`, providers.ClassAuth, false, "Invalid token"},
		{"without credit", `{"title":"Insufficient credit","detail":"You have insufficient credit to run this model.","status":402}`, providers.ClassRejected, false, "insufficient credit"},
		{"of the input", `{"title":"Input validation failed","detail":"- input: prompt is required","status":422}`, providers.ClassRejected, false, "prompt is required"},
		{"of a gateway", `{"error":{"message":"Upstream is down","code":503}}`, providers.ClassUnavailable, true, ""},
		{"with a code", `{"code":403,"msg":"No access"}`, providers.ClassAuth, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fake, client, _ := setup(t)
			fake.Fail(hostedtest.Fault{Path: "/predictions", Status: http.StatusOK, Body: c.body, Times: 9})
			_, err := client.Start(t.Context(), hostedtest.Secret, hello())
			e, ok := errors.AsType[*providers.Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.Class != c.class || e.Retryable != c.retryable || !strings.Contains(e.Message, c.says) || providers.Lost(err) {
				t.Errorf("got %+v, lost %v", e, providers.Lost(err))
			}
		})
	}
}

// TestReplicate_loses_predictions starts predictions whose answer cannot be read: they may run and
// be charged.
func TestReplicate_loses_predictions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault hostedtest.Fault
		lost  bool
	}{
		"cut":             {hostedtest.Fault{Status: http.StatusCreated, Body: `{"id":"p1","sta`, Break: true}, true},
		"a page":          {hostedtest.Fault{Status: http.StatusOK, Body: `<html></html>`}, true},
		"without an ID":   {hostedtest.Fault{Status: http.StatusCreated, Body: `{"status":"starting"}`}, true},
		"refused":         {hostedtest.Fault{Status: http.StatusUnprocessableEntity, Body: `{"detail":"No"}`}, false},
		"not found":       {hostedtest.Fault{Status: http.StatusNotFound, Body: `{"detail":"No"}`}, false},
		"an error of 5xx": {hostedtest.Fault{Status: http.StatusBadGateway, Body: `{}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, client, _ := setup(t)
			c.fault.Path, c.fault.Times = "/predictions", 9
			fake.Fail(c.fault)
			if _, err := client.Start(t.Context(), hostedtest.Secret, hello()); err == nil || providers.Lost(err) != c.lost {
				t.Errorf("got %v, lost %v", err, providers.Lost(err))
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		fake.Fail(hostedtest.Fault{Path: "/predictions", Do: func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}})
		if _, err := client.Start(ctx, hostedtest.Secret, hello()); !providers.Lost(err) || ctx.Err() == nil {
			t.Errorf("got %v", err)
		}
	})
	t.Run("not sent", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Close()
		if _, err := client.Start(t.Context(), hostedtest.Secret, hello()); err == nil || providers.Lost(err) {
			t.Errorf("got %v, lost %v", err, providers.Lost(err))
		}
	})
}

// TestReplicate_streams_by_the_standard sends a stream with the line ends and marks that the
// standard permits.
func TestReplicate_streams_by_the_standard(t *testing.T) {
	t.Parallel()
	const stream = "event: output\ndata: Hel\n\n:ping\n\nevent: output\ndata: lo\ndata: you\n\nevent: done\ndata: {}\n\n"
	for name, body := range map[string]string{
		"LF": stream, "CR": strings.ReplaceAll(stream, "\n", "\r"), "CRLF": strings.ReplaceAll(stream, "\n", "\r\n"), "a mark": "\uFEFF" + stream,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, client, _ := setup(t)
			fake.Fail(hostedtest.Fault{Path: "/stream/", Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body})
			var text strings.Builder
			if err := client.Stream(t.Context(), hostedtest.Secret, fake.URL+"/stream/p1", func(s string) { text.WriteString(s) }); err != nil || text.String() != "Hello\nyou" {
				t.Errorf("got %q, %v", text.String(), err)
			}
		})
	}
}

// TestNewReplicate_adds_the_version to an address without a path.
func TestNewReplicate_adds_the_version(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"": hosted.DefaultReplicateURL, "http://127.0.0.1:9": "http://127.0.0.1:9/v1", "http://127.0.0.1:9/": "http://127.0.0.1:9/v1",
		"http://127.0.0.1:9/v1/": "http://127.0.0.1:9/v1", "https://gateway.example.com/replicate": "https://gateway.example.com/replicate",
	} {
		if got := hosted.NewReplicate(hosted.ReplicateConfig{BaseURL: address}).Address(); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
