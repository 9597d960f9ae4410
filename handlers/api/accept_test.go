package api

import "testing"

func TestChooseType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		accept string
		want   string
	}{
		{"", typeJSON}, {"*/*", typeJSON}, {"application/*", typeJSON}, {"application/json", typeJSON}, {"APPLICATION/JSON; charset=utf-8", typeJSON},
		{"text/event-stream", typeStream}, {"text/*", typeStream}, {"application/json, text/event-stream", typeJSON}, {"text/event-stream, application/json", typeStream},
		{"text/event-stream, */*", typeStream}, {"text/event-stream;q=0.5, application/json", typeJSON}, {"*/*, application/json;q=0", typeStream},
		{"text/html", ""}, {"application/json;q=0", ""}, {"text/html, */*;q=0.1", typeJSON}, {"application/jsonx", ""}, {",,", typeJSON}, {"application/json;q=x", typeJSON}, {"*", ""},
	}
	for _, test := range tests {
		accept := []string{test.accept}
		if test.accept == "" {
			accept = nil
		}
		if got := chooseType(accept, []string{typeJSON, typeStream}); got != test.want {
			t.Errorf("%q takes %q, wanted %q", test.accept, got, test.want)
		}
	}
}
