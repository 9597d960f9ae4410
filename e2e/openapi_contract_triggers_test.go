package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// triggers provokes the responses of schedules and incoming webhooks.
func (k *contract) triggers() {
	flow := "/v1/flow/" + k.ids["flow_id"]
	plain := "Content-Type: text/plain"
	hook := flow + "/hooks/site"
	for _, body := range []any{object{"verify": object{"scheme": "none"}}, object{"verify": object{"scheme": "never"}}} {
		k.ask("all", "PUT", hook, body)
	}
	k.ask("all", "PUT", hook, []byte("x"), plain)
	k.ask("all", "GET", hook, nil)
	k.ask("all", "GET", hook+"/requests", nil)
	for path, body := range map[string]object{"/capture": {"on": true}, "/rotate": {"overlap_s": 60}} {
		k.ask("all", "POST", hook+path, body)
		k.ask("all", "POST", hook+path, object{"never": 1})
		k.ask("all", "POST", hook+path, []byte("x"), plain)
	}
	trigger := flow + "/triggers/nightly"
	k.ask("all", "PUT", trigger, object{"every": "2d", "inputs": object{"name": "Ada"}})
	past := object{"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"}
	k.ask("all", "POST", trigger+"/backfill", past)
	k.ask("all", "PUT", trigger, object{"every": "never"})
	k.ask("all", "PUT", trigger, []byte("x"), plain)
	k.ask("all", "GET", trigger, nil)
	k.ask("all", "POST", trigger+"/now", nil)
	k.ask("all", "GET", trigger+"/events", nil)
	k.ask("all", "GET", trigger+"/events?limit=x", nil)
	k.ask("all", "POST", trigger+"/pause", nil)
	k.ask("all", "POST", trigger+"/now", nil)
	k.ask("all", "POST", trigger+"/resume", nil)
	k.ask("all", "PUT", trigger, object{"every": "2d"})
	k.ask("all", "POST", trigger+"/now", nil) // lacks an input
	k.ask("all", "POST", trigger+"/resume", object{"catch_up": "never"})
	k.ask("all", "POST", trigger+"/resume", []byte("x"), plain)
	k.ask("all", "POST", trigger+"/backfill", []byte("x"), plain)
	c := k.s.client(k.keys["all"])
	draft := "/v1/flow/" + c.want(201, "POST", "/v1/flow", greeting()).object(k.t)["flow_id"].(string)
	c.want(200, "PUT", draft+"/triggers/nightly", object{"every": "1d"})
	k.ask("all", "POST", draft+"/triggers/nightly/backfill", past)
	k.ask("all", "DELETE", trigger, nil)
	k.ask("all", "POST", "/v1/schedules/preview", object{"every": "2d"})
	k.ask("all", "POST", "/v1/schedules/preview", []byte("x"), plain)
	k.ask("all", "GET", runPath(k.ids["flow_id"], k.ids["run_id"])+"/steps?under=a&cursor=x", nil)
}

// batches provokes the responses of batches.
func (k *contract) batches() {
	path := "/v1/flow/" + k.ids["flow_id"] + "/batches"
	once := "Idempotency-Key: batch"
	started := k.ask("all", "POST", path, object{"rows": []object{{"name": "Ada"}}}, once).object(k.t)
	k.ask("all", "POST", path, object{"rows": []object{{"name": "Bob"}}}, once)
	draft := k.s.client(k.keys["all"]).want(201, "POST", "/v1/flow", greeting()).object(k.t)["flow_id"].(string)
	k.ask("all", "POST", "/v1/flow/"+draft+"/batches", object{"rows": []object{{"name": "Ada"}}})
	k.ask("all", "POST", path, object{"rows": 1})
	k.ask("all", "POST", path, []byte("x"), "Content-Type: text/plain")
	id := started["run"].(object)["run_id"].(string)
	batch := path + "/" + id
	c := k.s.client(k.keys["all"])
	k.s.waitUntil("the batch ends", func() bool { return c.want(200, "GET", batch, nil).object(k.t)["run"].(object)["ended_at"] != nil })
	k.ask("wrong", "GET", batch, nil)
	k.ask("wrong", "PATCH", batch, object{"concurrency": 1})
	k.ask("all", "GET", batch, nil)
	waiting := k.s.publish(approving("", nil))
	open := k.ask("all", "POST", "/v1/flow/"+waiting+"/batches", object{"rows": []object{{"draft": "a"}}}).object(k.t)["run"].(object)["run_id"].(string)
	questions := "/v1/flow/" + waiting + "/batches/" + open
	k.s.waitUntil("the row is in progress", func() bool {
		return fmt.Sprint(c.want(200, "GET", questions, nil).object(k.t)["rows"].(object)["running"]) == "1"
	})
	k.ask("all", "PATCH", questions, object{"concurrency": 2})
	k.ask("all", "PATCH", batch, object{"concurrency": "x"})
	k.ask("all", "PATCH", batch, []byte("x"), "Content-Type: text/plain")
	k.ask("all", "GET", batch+"/results", nil)
	k.ask("all", "GET", batch+"/results?format=x", nil)
	c.want(204, "DELETE", runPath(k.ids["flow_id"], id), nil)
	k.ask("all", "POST", path, object{"rows": []object{{"name": "Ada"}}}, once)
	k.ask("all", "GET", batch, nil)
	k.ask("all", "PATCH", batch, object{"concurrency": 2})
	k.ask("all", "GET", batch+"/results", nil)
}

// companions provokes the responses of files beside flows, and of the time zone that schedules follow.
func (k *contract) companions() {
	flow := "/v1/flow/" + k.ids["flow_id"]
	file := flow + "/companions/triggers"
	tag := k.ask("all", "GET", file, nil).header.Get("ETag")
	content := object{"schema": "sluice.triggers/v1", "triggers": []object{{"name": "weekly", "kind": "schedule", "every": "7d"}}}
	k.ask("all", "PUT", file, content)
	k.ask("all", "PUT", file, content, "If-Match: \"rev-999\"")
	k.ask("all", "PUT", file, object{"schema": "sluice.triggers/v1", "triggers": []object{{"name": "weekly"}}}, "If-Match: "+tag)
	k.ask("all", "PUT", file, []byte("x"), "Content-Type: text/plain", "If-Match: "+tag)
	k.ask("all", "PUT", file, content, "If-Match: "+tag)
	k.ask("all", "GET", file+"?revision=x", nil)
	k.ask("all", "GET", file+"/history", nil)
	for _, path := range []string{file, file + "/history", "/v1/companions"} {
		k.ask("run", "GET", path, nil)
	}
	for _, zone := range []any{object{"timezone": "Europe/Berlin"}, object{"timezone": "Never/Land"}, object{"timezone": "UTC"}} {
		k.ask("all", "PUT", "/v1/timezone", zone)
	}
	k.ask("all", "PUT", "/v1/timezone", []byte("x"), "Content-Type: text/plain")
	k.ask("all", "GET", flow+"/batches?limit=x", nil)
	k.ask("all", "POST", runPath(k.ids["flow_id"], k.ids["run_id"])+"/cancel", []byte("x"), "Content-Type: text/plain")
	k.s.toolServer("desk")
	k.ask("all", "POST", "/v1/credentials/desk/tools/check", nil)
	k.ask("all", "PUT", "/v1/credentials/plain", object{"secret": "x", "provider": "openai"})
	k.ask("all", "POST", "/v1/credentials/plain/tools/check", nil)
	k.ask("all", "DELETE", "/v1/credentials/desk/connection", nil)
	k.ask("all", "DELETE", "/v1/credentials/plain/connection", nil)
	k.ask("all", "DELETE", "/v1/credentials/desk/connection", nil, "Accept: image/png")
}

// toolServer starts an MCP server with one tool and adds a credential for it.
func (s *server) toolServer(name string) {
	s.t.Helper()
	tools := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	sdk.AddTool(tools, &sdk.Tool{Name: "find", Description: "Finds."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, &sdk.StreamableHTTPOptions{Stateless: true}))
	s.t.Cleanup(web.Close)
	if r := s.commandWith("", "credential", "add", "--name", name, "--provider", "mcp", "--base-url", web.URL); r.code != 0 {
		s.t.Fatalf("%+v", r)
	}
}
