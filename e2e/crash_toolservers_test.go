package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/providers/scripted"
)

// deskTurns is the number of turns with calls of each agent in TestCrashToolServers_lose_no_question.
const deskTurns = 3

// crashDesk is an MCP server with a tool that reads and one that writes, and the people who allow its calls.
type crashDesk struct {
	*agentWorld // calls has tools with idempotency keys
	servers     []*server
	key         string // of a program that starts runs
	people      []string
	answers     map[string]int // accepted ones, by the path of the question
}

// toolServer serves the tools.
func (d *crashDesk) toolServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	for _, name := range []string{"look", "book"} {
		server.AddTool(&sdk.Tool{Name: name, Description: name + "s a number.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "look"}, InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				d.hit(func() { d.calls[name+" "+fmt.Sprint(r.Params.Meta["sluice/idempotency-key"])]++ })
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
			})
	}
	at := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(at.Close)
	return at
}

// answer is the model: in each turn it looks and books.
func (d *crashDesk) answer(r *scripted.Request) scripted.Answer {
	d.hit(func() { d.model++ })
	if r.Turn == deskTurns {
		return scripted.Answer{Text: "All done."}
	}
	arguments := fmt.Sprintf(`{"n": %d}`, r.Turn)
	return scripted.Answer{Calls: []scripted.Call{{ID: fmt.Sprint("a", r.Turn), Name: "look", Arguments: arguments}, {ID: fmt.Sprint("b", r.Turn), Name: "book", Arguments: arguments}}}
}

// allow lets two people answer the questions of a run at the same time, through different servers, until the run has ended.
func (d *crashDesk) allow(t *testing.T, r *run) {
	for turn := 0; ; turn++ {
		s := d.servers[turn%len(d.servers)]
		c := s.client(d.key)
		if a, err := c.try("GET", r.path()+"?wait=1", nil); err != nil {
			time.Sleep(20 * time.Millisecond) // the server is dead
			continue
		} else if r, err := a.tryRun(); err == nil && r.ended() {
			return
		}
		a, err := c.try("GET", r.path()+"/approvals", nil)
		var list struct {
			Approvals []struct{ Path, Status string }
		}
		if err != nil || json.Unmarshal(a.body, &list) != nil {
			continue
		}
		for _, q := range list.Approvals {
			if q.Status != "open" {
				continue
			}
			var both sync.WaitGroup
			for i, key := range d.people {
				both.Go(func() {
					at := d.servers[(turn+i)%len(d.servers)]
					a, err := at.client(key).try("POST", r.path()+"/approvals/"+q.Path, object{"decision": "approved", "comment": fmt.Sprint("person ", i)})
					switch {
					case err != nil || a.status == 409 || a.status >= 500: // the server died, or the other person was first
					case a.status == 200:
						d.mu.Lock()
						d.answers[r.ID+" "+q.Path]++
						d.mu.Unlock()
					default:
						t.Errorf("answering %s: %d %s", q.Path, a.status, a.body)
					}
				})
			}
			both.Wait()
		}
	}
}

// TestCrashToolServers_lose_no_question kills one of three servers on PostgreSQL, or the only one on SQLite, while agents ask people and call the
// tools of an MCP server: no question is lost, none is answered twice, and what people allow is called at most once.
func TestCrashToolServers_lose_no_question(t *testing.T) {
	t.Parallel()
	from := loggedSeed(t)
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			servers := []*server{}
			if on == "PostgreSQL" {
				servers = serversOn(t, 3)
			} else {
				servers = append(servers, newServer(t))
			}
			crashToolServers(t, servers, rand.New(rand.NewPCG(from, 1<<36)))
		})
	}
}

func crashToolServers(t *testing.T, servers []*server, random *rand.Rand) {
	s := servers[0]
	d := &crashDesk{agentWorld: &agentWorld{calls: map[string]int{}, due: make(chan struct{}, 1)}, servers: servers, answers: map[string]int{}}
	desk, model := d.toolServer(t), httptest.NewServer(scripted.New(d.answer))
	t.Cleanup(model.Close)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	if r := s.commandWith("", "credential", "add", "--name", "desk", "--provider", "mcp", "--base-url", desk.URL); r.code != 0 {
		t.Fatal(r.errs)
	}
	checked := s.client(s.key("--scope", "admin")).want(200, "POST", "/v1/credentials/desk/tools/check", object{}).object(t)["tools"].([]any)
	id := s.publish(documentOf("Desk", []object{
		node("agent", "agent", object{"model": "fake/m", "prompt": "Go."}), output("answer"),
		node("desk", "mcp", object{"credential": object{"credential": "desk"}, "tools": storedTools(checked)}, object{"tool": object{"approval": "always"}}),
	}, "desk.tool > agent.tools", "agent.text > out_answer.value"))
	d.key, d.people = s.key("--scope", "run,read"), []string{s.key("--scope", "approve"), s.key("--scope", "approve")}
	var runs []*run
	var all sync.WaitGroup
	kills := max(*rounds, 5)
	for range kills {
		victim := servers[random.IntN(len(servers))]
		d.aim(random)
		for dead := false; !dead; {
			r := victim.client(d.key).start(id, object{})
			runs = append(runs, r)
			ended := make(chan struct{})
			all.Go(func() {
				defer close(ended)
				d.allow(t, r)
			})
			select {
			case <-d.due:
				dead = true
			case <-ended:
			}
		}
		victim.kill()
		close(d.dead)
		victim.start()
	}
	all.Wait()
	unknown := 0
	for _, r := range runs {
		unknown += d.check(t, servers[0].client(d.key), r)
	}
	for key, n := range d.calls {
		if strings.HasPrefix(key, "book ") && n > 1 {
			t.Errorf("%s was called %d times", key, n)
		}
	}
	for path, n := range d.answers {
		if n > 1 {
			t.Errorf("%s was answered %d times", path, n)
		}
	}
	t.Logf("%d kills of %d servers, %d agents, %d calls, %d answers, %d unknown outcomes", kills, len(servers), len(runs), len(d.calls), len(d.answers), unknown)
}

// check checks one agent, and returns the number of its calls with an unknown outcome.
func (d *crashDesk) check(t *testing.T, c *client, r *run) (unknown int) {
	t.Helper()
	if r = c.await(r); r.Status != "succeeded" || r.Outputs["answer"] != "All done." {
		t.Errorf("%s is %s: %v %v", r.ID, r.Status, r.Outputs, r.Error)
		return 0
	}
	var list struct {
		Approvals []struct{ Path, Status string }
	}
	read(t, c, r.path()+"/approvals", &list)
	for _, q := range list.Approvals {
		if q.Status != "approved" {
			t.Errorf("%s: the question %s is %s", r.ID, q.Path, q.Status)
		}
	}
	var page struct {
		Steps []struct {
			Path, State string
			Error       struct{ Code string }
		}
	}
	read(t, c, r.path()+"/steps?under=agent", &page)
	asked := 0
	for _, step := range page.Steps {
		parts := strings.Split(step.Path, ".") // agent.turn.call.ask
		if len(parts) == 4 {
			asked++
		}
		if len(parts) == 3 && parts[2] == "2" && step.Error.Code == "outcome_unknown" {
			unknown++
			continue
		}
		if step.State != "succeeded" {
			t.Errorf("%s: %s is %s %s", r.ID, step.Path, step.State, step.Error.Code)
		}
		if len(parts) == 3 {
			if call := map[string]string{"1": "look", "2": "book"}[parts[2]] + " " + r.ID + ":" + step.Path; d.calls[call] == 0 {
				t.Errorf("%s was recorded and not called", call)
			}
		}
	}
	if asked != 2*deskTurns || len(list.Approvals) != asked {
		t.Errorf("%s has %d questions and %d steps that ask, want %d", r.ID, len(list.Approvals), asked, 2*deskTurns)
	}
	return unknown
}
