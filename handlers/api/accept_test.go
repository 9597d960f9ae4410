package api

import "testing"

func TestChooseType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		accept string
		want   string
	}{
		{"", TypeJSON}, {"*/*", TypeJSON}, {"application/*", TypeJSON}, {"application/json", TypeJSON}, {"APPLICATION/JSON; charset=utf-8", TypeJSON},
		{"text/event-stream", TypeStream}, {"text/*", TypeStream}, {"application/json, text/event-stream", TypeJSON}, {"text/event-stream, application/json", TypeStream},
		{"text/event-stream, */*", TypeStream}, {"text/event-stream;q=0.5, application/json", TypeJSON}, {"*/*, application/json;q=0", TypeStream},
		{"text/html", ""}, {"application/json;q=0", ""}, {"text/html, */*;q=0.1", TypeJSON}, {"application/jsonx", ""}, {",,", TypeJSON}, {"application/json;q=x", TypeJSON}, {"*", ""},
	}
	for _, test := range tests {
		accept := []string{test.accept}
		if test.accept == "" {
			accept = nil
		}
		if got := ChooseType(accept, []string{TypeJSON, TypeStream}); got != test.want {
			t.Errorf("%q takes %q, wanted %q", test.accept, got, test.want)
		}
	}
}
