package hosted_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup starts a fake and a client that reaches it through the guard, as
// Sluice does. Its waits between tries are noted and not waited for.
func setup(t *testing.T) (*hostedtest.Fake, *hosted.Replicate, *[]time.Duration) {
	t.Helper()
	fake := hostedtest.New(t)
	addModels(fake)
	client, waits := newClient(t, fake.URL, 1<<20)
	return fake, client, waits
}

func newClient(t *testing.T, url string, maxFile int64) (*hosted.Replicate, *[]time.Duration) {
	t.Helper()
	out, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	client := hosted.NewReplicate(hosted.ReplicateConfig{
		BaseURL: url,
		API:     out.HTTPClient(outbound.ClientOptions{FirstByteTimeout: outbound.ModelFirstByteTimeout, MaxBody: 64 << 20}),
		Files:   out.HTTPClient(outbound.ClientOptions{MaxRedirects: 3, MaxBody: maxFile}),
	})
	var waits []time.Duration
	hosted.SetPause(client, func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		return ctx.Err()
	})
	return client, &waits
}

// wantError fails unless err is a *providers.Error of the class.
func wantError(t *testing.T, err error, class providers.ErrorClass) *providers.Error {
	t.Helper()
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Class != class {
		t.Fatalf("got %v (%T), wanted an error of class %s", err, err, class)
	}
	return e
}

func echo() hosted.Ref {
	return hosted.Ref{Owner: "acme", Name: "echo", Version: hostedtest.Version("acme", "echo")}
}

func hello() hosted.StartRequest {
	return hosted.StartRequest{Ref: echo(), Input: map[string]any{"prompt": "hello"}}
}

// respond answers with a status and a body.
func respond(status int, header http.Header, body string) hostedtest.Fault {
	return hostedtest.Fault{Status: status, Header: header, Body: body}
}
