package documents

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// shared is one reader for all tests. Its engine is kept between runs of the
// tests, since compiling it takes seconds.
var shared = sync.OnceValue(func() *Reader {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return New(Config{CacheDir: filepath.Join(dir, "sluice-test")})
})

// readIn reads content without a name in a child.
func readIn(ctx context.Context, req Request, content string) (*Document, error) {
	return shared().Read(ctx, "default", req, strings.NewReader(content), func(Image) error { return nil })
}

// refusal returns the message of an *Error.
func refusal(t *testing.T, err error) string {
	t.Helper()
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return refused.Message
}

func testFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// zipped is a ZIP of parts, in pairs of name and content.
func zipped(t *testing.T, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// same compares values by their JSON.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// has checks that a text holds each part.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not hold %q", text, part)
		}
	}
}
