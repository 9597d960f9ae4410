package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"sluice/flow"
)

func TestServeAs(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ask := func(key *flow.Key) int {
		w := httptest.NewRecorder()
		h.server.ServeAs(key, w, httptest.NewRequest(http.MethodGet, "/v1/flow", nil))
		return w.Code
	}
	if got := ask(&flow.Key{WorkspaceID: flow.DefaultWorkspace, Scopes: []flow.Scope{flow.ScopeRead}}); got != http.StatusOK {
		t.Errorf("with the scope: %d", got)
	}
	if got := ask(&flow.Key{WorkspaceID: flow.DefaultWorkspace, Scopes: []flow.Scope{flow.ScopeRun}}); got != http.StatusForbidden {
		t.Errorf("without the scope: %d", got)
	}
}
