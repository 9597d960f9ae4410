package editor_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestVersions_restore_and_undo_are_audited restores a version and undoes it: both change
// the draft, so both are in the audit log.
func TestVersions_restore_and_undo_are_audited(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.PublishedFlow(webtest.SampleFlow)
	path := "/flows/" + id
	label := func() string { return h.Draft(id).Node("team").Label }
	published := label()
	b.PostJSON(path+"/ops", webtest.Transaction(h.Rev(id), "rename", rename)).Is(http.StatusOK)
	edited := label()

	restored := b.Post(path+"/versions/1/restore", nil).Is(http.StatusSeeOther)
	if got := label(); got != published || got == edited {
		t.Errorf("restored to %q, want %q", got, published)
	}
	to, err := url.Parse(restored.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	b.Post(path+"/versions/undo", url.Values{"tx": {to.Query().Get("tx")}}).RedirectsTo(path + "/versions")
	if got := label(); got != edited {
		t.Errorf("undone to %q, want %q", got, edited)
	}
	log, err := h.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range log { // entries of the same millisecond are in no order
		if e.Target == id {
			actions = append(actions, e.Action)
		}
	}
	for _, action := range []string{"flow.revert", "flow.edit"} {
		if !slices.Contains(actions, action) {
			t.Errorf("the log has %v, but not %s", actions, action)
		}
	}
}
