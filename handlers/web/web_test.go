package web

import (
	"net/http"
	"net/http/httptest"
	"sluice/views/components"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
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
