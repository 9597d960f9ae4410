package admin_test

import (
	"testing"

	"sluice/handlers"
)

func TestFlowSchema(t *testing.T) {
	t.Parallel()
	e := setup(t, func(cfg *handlers.Config) { cfg.FlowSchema = func() any { return map[string]any{"title": "Flow"} } })
	a := e.send("", "GET", "/v1/schema/flow.json", "").want(200, "")
	if a.body["title"] != "Flow" || a.header.Get("Cache-Control") != "public, max-age=3600" {
		t.Errorf("%s, cached %q", a.raw, a.header.Get("Cache-Control"))
	}
}
