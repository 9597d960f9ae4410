package web

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/views/components"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	var s Streams
	for range MaxStreams {
		if !s.Enter("user_1") {
			t.Fatal("refused too early")
		}
	}
	if s.Enter("user_1") || !s.Enter("user_2") {
		t.Error("the limit is not per user")
	}
	s.Leave("user_1")
	if !s.Enter("user_1") {
		t.Error("a closed stream is still counted")
	}
}

func TestTriggerToast_bounds_the_header(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	c := &Call{Exchange: echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), w)}
	c.triggerToast(components.ToneBad, strings.Repeat("\U0001F600\x7f", 5000))
	if said := w.Header().Get("HX-Trigger"); said == "" || len(said) > 14*maxToastLen || strings.Contains(said, "\x7f") {
		t.Errorf("a header of %d bytes", len(said))
	}
}

// formCall returns a call with a form of one value and one file, on a server with a budget of memory.
func formCall(t *testing.T, budget int64, value, file string) *Call {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	err := w.WriteField("value", value)
	if part, partErr := w.CreateFormFile("file", "a.json"); err == nil && partErr == nil {
		_, err = part.Write([]byte(file))
	}
	if closeErr := w.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	r := httptest.NewRequest(http.MethodPost, "/", iotest.HalfReader(&form))
	r.Header.Set("Content-Type", w.FormDataContentType())
	memory := inflight.New(budget, t.TempDir())
	c := &Call{Exchange: echo.New().NewContext(r, httptest.NewRecorder()), s: &Site{Config: Config{Memory: memory}}, memory: memory.Open("a")}
	t.Cleanup(c.release)
	return c
}

func TestReadForm_with_files_bounds_memory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	long, dense := strings.Repeat("text ", mib/5), "["+strings.Repeat("1,", mib/2)+"1]"
	for name, test := range map[string]struct {
		budget      int64
		value, file string
		held        int64
		code        flow.Code
	}{
		"keeps_values":              {100 * mib, long, "[]", memoryPerByte * int64(len(long)), ""},
		"keeps_files":               {100 * mib, "a", dense, 20 * int64(len(dense)), ""},
		"counts_small_ones_nowhere": {100 * mib, "a", "[]", 0, ""},
		"refuses_long_values":       {mib, long, "[]", 0, flow.CodeBodyTooLarge},
		"refuses_dense_values":      {20 * mib, dense, "[]", 0, flow.CodeBodyTooLarge},
		"refuses_dense_files":       {20 * mib, "a", dense, 0, flow.CodeBodyTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := formCall(t, test.budget, test.value, test.file)
			var file []byte
			values, err := c.ReadForm(4*mib, func(_ string, part *multipart.Part) (err error) {
				file, err = c.ReadPart(part, 4*mib)
				return BodyError(err)
			})
			if test.code != "" {
				if !errors.Is(err, &flow.Error{Code: test.code}) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || values.Get("value") != test.value || string(file) != test.file {
				t.Errorf("a value of %d and a file of %d bytes: %v", len(values.Get("value")), len(file), err)
			}
			if held := c.memory.Held(); held < test.held || test.held == 0 && held > 0 {
				t.Errorf("%d bytes are counted, want %d", held, test.held)
			}
		})
	}
}

func TestReadPart_takes_memory_after_the_last_byte(t *testing.T) {
	t.Parallel()
	c := formCall(t, 100<<20, "", "")
	slow := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), readerFunc(func([]byte) (int, error) {
		if held := c.memory.Held(); held != 0 {
			t.Errorf("a slow client occupies %d bytes", held)
		}
		return 0, io.EOF
	}))
	if data, err := c.ReadPart(slow, 2<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
