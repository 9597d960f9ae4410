package admin

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/cases/reports"
	"sluice/handlers/api"
)

// showTest is GET test: the report.
func (s testServer) showTest(c *api.Call) error {
	format := c.QueryParam("format")
	if format != "" && format != "json" && !slices.Contains(reports.Formats, format) {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "Unknown format.", Fields: []flow.Problem{{Pointer: "/format", Code: "invalid", Detail: "wanted json, " + strings.Join(reports.Formats, ", ")}}}
	}
	t, run, err := s.findTest(c)
	if err != nil {
		return err
	}
	if slices.Contains(reports.Formats, format) {
		return s.writeReport(c, t, format)
	}
	_, r, err := s.object(c, t, run)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, r)
}

// writeReport responds with the report of a test in a format besides JSON.
func (s testServer) writeReport(c *api.Call, t *cases.Test, format string) error {
	ctx := c.Request().Context()
	plan, report, _, err := s.Report(ctx, t)
	if err != nil {
		return err
	}
	f, err := s.Server.Store.FindFlow(ctx, t.WorkspaceID, t.FlowID)
	if err != nil {
		return err
	}
	r := &reports.Report{Flow: f.Slug, Plan: plan, Report: report, URL: s.runURL()}
	if err := s.Store.AddChecks(ctx, t, r.Explained(format)); err != nil {
		return err
	}
	if format == "markdown" {
		if r.Outputs, err = s.outputs(ctx, t.WorkspaceID, r.Shown()); err != nil {
			return err
		}
	}
	text, mime := r.Write(format)
	h := c.Response().Header()
	h.Set("Content-Type", mime)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Response().WriteHeader(http.StatusOK)
	_, err = c.Response().Write(text)
	return err
}

// runURL returns the addresses of the pages of runs; nil if only this machine can reach them.
func (s testServer) runURL() func(flow.RunID) string {
	base, err := url.Parse(s.publicURL)
	if err != nil {
		return nil
	}
	if ip := net.ParseIP(base.Hostname()); base.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return func(id flow.RunID) string { return s.publicURL + "/runs/" + string(id) }
}

// outputs returns the outputs of runs. Those whose content is gone are missing.
func (s testServer) outputs(ctx context.Context, ws flow.WorkspaceID, ids []flow.RunID) (map[flow.RunID]*flow.Object, error) {
	found := map[flow.RunID]*flow.Object{}
	for _, id := range ids {
		if id == "" || found[id] != nil {
			continue
		}
		run, err := s.Server.Store.FindRun(ctx, ws, "", id)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if run.Outputs != nil {
			found[id] = run.Outputs
		}
	}
	return found, nil
}
