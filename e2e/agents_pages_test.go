package e2e

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/e2e/chrome"
	"sluice/e2e/need"
	"sluice/providers/scripted"
)

// The size of the agent in TestAgentPages_of_a_long_agent.
const (
	longTurns = 50
	turnCalls = 4
)

// longAgent runs an agent with longTurns turns of turnCalls calls. The last call of each turn is a write. It returns the run.
func longAgent(t *testing.T, d *dashboard) *run {
	t.Helper()
	shop := newRefundShop(t)
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		a := scripted.Answer{Input: 1000 + 100*r.Turn, Cached: 900 + 90*r.Turn, Output: 80}
		if r.Turn == longTurns {
			a.Text = "All orders are **checked**."
			return a
		}
		for i := range turnCalls {
			name, arguments := "look", fmt.Sprintf(`{"order": "%d-%d"}`, r.Turn, i)
			if i == turnCalls-1 {
				name, arguments = "refund", fmt.Sprintf(`{"order": "%d", "amount": "9.90"}`, r.Turn)
			}
			a.Calls = append(a.Calls, scripted.Call{ID: fmt.Sprintf("c%d_%d", r.Turn, i), Name: name, Arguments: arguments})
		}
		return a
	}))
	t.Cleanup(model.Close)
	if r := d.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	id := d.publish(documentOf("Check orders", []object{
		node("agent", "agent", object{"model": "fake/m", "prompt": "Check all orders.", "max_turns": 2 * longTurns, "max_calls": 2 * longTurns * turnCalls}, object{"label": "Order agent"}), output("answer"),
		node("look", "http_request", object{"url": shop.URL + "/orders/{{order}}"}, object{"tool": object{"description": "Looks an order up."}, "label": "Look"}),
		node("refund", "http_request", object{"method": "POST", "url": shop.URL + "/refunds/{{order}}/{{amount}}"}, object{"tool": object{"description": "Refunds an order.", "approval": "never"}, "label": "Refund"}),
	}, "look.tool > agent.tools", "refund.tool > agent.tools", "agent.text > out_answer.value"))
	return d.client(d.key("--scope", "run,read")).succeed(id, object{})
}

// TestAgentPages_of_a_long_agent: 50 turns with 200 calls can be read with the keyboard, by axe, and on a phone. A turn is run again, a call is
// run again with other arguments, and the request of a turn is copied.
func TestAgentPages_of_a_long_agent(t *testing.T) {
	need.Time(t)
	t.Parallel()
	axe, err := os.ReadFile(filepath.Join(judges(t), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDashboard(t)
	r := longAgent(t, d)
	tab := d.signIn(t, ownerEmail, "/sign-in")
	check := func(what string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			tab.Theme(theme)
			tab.Shot("long-agent-" + what + "-" + theme)
			for _, f := range violations(tab, string(axe)) {
				t.Errorf("%s in the %s theme: %s", what, theme, f)
			}
		}
		tab.Until("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
	}
	tab.Size(1440, 1200)
	tab.Go(d.base() + "/runs/" + r.ID)
	tab.Until(`[...document.querySelectorAll(".thread-head .pill")].map((a) => a.innerText.replace(/\s+/g, " ").trim()).join(" · ").startsWith("All 251 · Turns 51 · Tools 200")`)
	check("wide")

	// J goes to the next row, K back, E folds the turn, and / goes to the filters.
	tab.Click(`[id="row-agent.2"] .row`)
	tab.Has("#step-name", "Turn 2")
	tab.Keys("j")
	tab.Has("#step-name", "look")
	tab.Keys("k")
	tab.Has("#step-name", "Turn 2")
	tab.Keys("e")
	tab.Until(`document.querySelector('[id="row-agent.2.1"]').classList.contains("folded")`)
	tab.Keys("j")
	tab.Has("#step-name", "Turn 3")
	tab.Keys("/")
	tab.Until(`document.activeElement.matches(".thread-head .pill[aria-current]")`)

	// The request of a turn is copied.
	tab.AllowClipboard(d.base())
	tab.Click(`[id="row-agent.3"] .row`)
	tab.Has("#step-name", "Turn 3")
	tab.Click(".step-foot [data-copy-request]")
	tab.Until(`navigator.clipboard.readText().then((text) => text.includes("Check all orders.") && text.includes("found") === false && text.includes("2-0") === false && text.includes("1-0"))`)

	// A turn is run again.
	tab.Go(d.base() + "/runs/" + r.ID + "?step=agent.50#step")
	tab.Has("#step-name", "Turn 50")
	tab.Click(`.step-foot button[name="from"]`)
	tab.Until(`location.pathname !== "/runs/` + r.ID + `" && document.querySelector("#run") !== null`)
	again := chrome.Value[string](tab, `location.pathname.split("/").pop()`)
	if end := d.client(d.key("--scope", "run,read")).await(&run{ID: again, FlowID: r.FlowID}); end.Status != "succeeded" || end.Parent == nil || *end.Parent != r.ID {
		t.Errorf("the turn ran again as %+v", end)
	}

	// A call is run again with other arguments.
	tab.Go(d.base() + "/runs/" + r.ID + "?step=agent.50.4#step")
	tab.Click(".edit-call summary")
	tab.There(`.edit-form input[name="arg.amount"]`)
	check("edit")
	tab.Eval(`document.querySelector('.edit-form input[name="arg.amount"]').value = ""`)
	tab.Type(`.edit-form input[name="arg.amount"]`, "1.50")
	tab.Click(".edit-form button")
	tab.Until(`location.pathname !== "/runs/` + r.ID + `" && document.querySelector("#run") !== null`)
	edited := chrome.Value[string](tab, `location.pathname.split("/").pop()`)
	d.client(d.key("--scope", "run,read")).await(&run{ID: edited, FlowID: r.FlowID})
	tab.Go(d.base() + "/runs/" + edited + "?step=agent.50.4#step")
	tab.Has(".step-card", "1.50")
	if text := chrome.Value[string](tab, `document.querySelector(".step-card").innerText`); !strings.Contains(text, "9.90") {
		t.Errorf("the page of the edited call does not show what it replaces: %s", text)
	}

	// On a phone.
	tab.Phone()
	tab.Go(d.base() + "/runs/" + r.ID)
	tab.There(`[id="row-agent.51"]`)
	check("phone")
	tab.Tap(`[id="row-agent.50.4"] .row`)
	tab.There(".step-sheet #step[role=dialog]")
	check("phone-sheet")
}

// TestAgentPages_of_questions_and_servers: the pages on which people allow calls, connect MCP servers, choose their tools, run and publish agents
// can be read by axe in both themes, wide and on a phone.
func TestAgentPages_of_questions_and_servers(t *testing.T) {
	need.Time(t)
	t.Parallel()
	axe, err := os.ReadFile(filepath.Join(judges(t), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	desk := newOAuthServer(t)
	d := newDashboard(t)
	id := refunder(t, d.server, newRefundShop(t), nil, nil, 80, 5)
	c := d.client(d.key("--scope", "run,read,edit,manage,admin"))
	r := c.start(id, object{"order": "o-1"})
	asked(t, d.server, c, r, "agent.1.1.ask", "agent.1.2.ask")
	for name, url := range map[string]string{"desk": desk.url, "repository-host": repositoryHost(t, new(atomic.Int64)).URL} {
		if r := d.commandWith("", "credential", "add", "--name", name, "--provider", "mcp", "--base-url", url); r.code != 0 {
			t.Fatal(r.errs)
		}
	}
	cookies := d.cookies()
	desk.connect(t, d.server, cookies, "desk", "ada")
	made := d.client("").want(303, "POST", "/flows", []byte("template=answer-about-a-repository"), "Cookie: "+cookies, "Content-Type: application/x-www-form-urlencoded")
	repository := made.header.Get("Location")
	tab := d.signIn(t, ownerEmail, "/sign-in")
	for _, phone := range []bool{false, true} {
		size := "wide"
		if tab.Size(1440, 1200); phone {
			size = "phone"
			tab.Phone()
		}
		for _, p := range []place{
			{"approvals", "/approvals"}, {"question", "/runs/" + r.ID + "?step=agent.1.1.ask"}, {"credential-connected", "/credentials/desk"}, {"credential-server", "/credentials/repository-host"},
			{"server-tools", repository + "/node/host/tools"}, {"templates", "/flows/templates"}, {"publish-agent", "/flows/" + id + "/publish"}, {"publish-problems", repository + "/publish"}, {"run-agent", "/flows/" + id + "/run"},
			{"members", "/settings/members"}, {"connect", ""},
		} {
			if p.path == "" { // the page of a form
				tab.Go(d.base() + "/credentials/desk")
				tab.Click("#connection .bar button")
				tab.There("#connect .lines")
			} else {
				tab.Go(d.base() + p.path)
			}
			tab.Until("document.readyState === 'complete'")
			for _, theme := range []string{"light", "dark"} {
				tab.Theme(theme)
				tab.Shot("agents-" + p.name + "-" + size + "-" + theme)
				for _, f := range violations(tab, string(axe)) {
					t.Errorf("%s %s in the %s theme: %s", p.name, size, theme, f)
				}
			}
			if wide := chrome.Value[int](tab, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
				t.Errorf("%s %s scrolls sideways by %d", p.name, size, wide)
			}
		}
	}

	// Tools are found by their text, and the page counts those that are chosen.
	tab.Size(1440, 1200)
	tab.Go(d.base() + repository + "/node/host/tools")
	tab.There("#tools-sum")
	tab.Type("#tool-search", "search")
	tab.Until(`[...document.querySelectorAll(".server-tools > li")].filter((row) => row.offsetHeight > 0).length === 1`)
	tab.Click("#tool-search_issues")
	tab.Until(`document.querySelector("#tools-sum").textContent.startsWith("1 of 2 tools · ")`)
	tab.Eval(`document.querySelector("#tool-search").value = ""; document.querySelector("#tool-search").dispatchEvent(new Event("input"))`)
	tab.Eval(`document.querySelector("#tool-effect").value = "write"; document.querySelector("#tool-effect").dispatchEvent(new Event("change"))`)
	tab.Until(`[...document.querySelectorAll(".server-tools > li")].filter((row) => row.offsetHeight > 0).map((row) => row.querySelector("code").textContent).join() === "comment_on_issue"`)
	tab.Click("#tools .foot .primary")
	tab.Until(`location.pathname === "` + repository + `"`)
	tab.Go(d.base() + repository + "/node/host/tools")
	tab.Until(`document.querySelector("#tool-search_issues")?.checked && !document.querySelector("#tool-comment_on_issue").checked`)

	// A server that has signed Sluice out offers the way back.
	d.client("").want(303, "POST", "/credentials/desk/disconnect", nil, "Content-Type: application/x-www-form-urlencoded", "Cookie: "+cookies)
	draft := c.want(200, "GET", "/v1/flow/"+path.Base(repository)+"/document?version=draft", nil).object(t)
	for _, n := range draft["nodes"].([]any) {
		if n := n.(object); n["kind"] == "mcp" {
			n["config"].(object)["credential"] = object{"credential": "desk"}
		}
	}
	c.replaceDraft(path.Base(repository), draft)
	tab.Allow("502")
	tab.Go(d.base() + repository + "/node/host/tools")
	tab.Has("main", "somebody has disconnected it.")
	tab.Click(`main a[href="/credentials/desk#connection"]`)
	tab.There("#connection")
}
