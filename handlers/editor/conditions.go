package editor

import (
	"net/http"
	"regexp"

	"sluice/flow"
	"sluice/handlers/web"
)

// Bounds of the answer about a condition.
const (
	maxTested    = 60 // expressions: one per row or case, and the whole
	maxPaths     = 60
	maxPathDepth = 3
)

// conditionTest is the answer to the editor of conditions.
type conditionTest struct {
	// Given is set if the last run has a value for the node.
	Given   bool         `json:"given"`
	Paths   []valuePath  `json:"paths"`
	Results []testResult `json:"results"`
}

// valuePath is a part of the tested value, as an expression names it.
type valuePath struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Text string `json:"text"` // a preview
}

// testResult is the result of one expression: true, false or an error.
type testResult struct {
	Value bool   `json:"value"`
	Error string `json:"error,omitempty"`
}

// testConditions is POST /flows/{id}/node/{node}/conditions: it evaluates each submitted
// expression with the value that the node got in the last run. Nothing is recorded.
func (c *call) testConditions(t *draftNode) error {
	sources := c.Request().Form["expression"]
	if len(sources) > maxTested {
		return web.ErrNotFound
	}
	_, steps, err := c.lastSteps(t.flow.ID)
	if err != nil {
		return err
	}
	answer := conditionTest{Paths: []valuePath{}, Results: []testResult{}}
	value, given := lastValue(t, steps, "value")
	if answer.Given = given; given {
		answer.addPaths("value", value, 0)
	}
	for _, source := range sources {
		answer.Results = append(answer.Results, c.testCondition(source, value, given))
	}
	return c.respondJSON(http.StatusOK, answer)
}

// testCondition checks an expression and, if a value is given, evaluates it.
func (c *call) testCondition(source string, value any, given bool) (r testResult) {
	kind, config := c.s.Kinds.Find("condition"), map[string]any{"expression": source}
	for _, p := range kind.Check(&flow.Node{Config: config}) {
		return testResult{Error: p.Detail}
	}
	if !given || source == "" {
		return r
	}
	out, err := kind.Run(c.Ctx(), &flow.In{Config: config, Ports: map[string]any{"value": value}})
	if err != nil {
		r.Error = flow.AsError(err).Message
	}
	_, r.Value = out.Outputs["true"]
	return r
}

// lastValue returns the value that a port of a node had in a run: what the connected node put
// out, or else what the node itself received.
func lastValue(t *draftNode, steps map[string]*flow.Step, port string) (value any, given bool) {
	ports := map[string]any{}
	if own := steps[t.node.ID]; own != nil {
		if v, ok := own.Input[port]; ok {
			ports[port] = v
		}
	}
	setLastInputs(t, ports, steps)
	value, given = ports[port]
	return value, given
}

// memberName matches names of members that an expression writes after a dot.
var memberName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// addPaths adds a value and its members as paths.
func (a *conditionTest) addPaths(path string, value any, depth int) {
	if len(a.Paths) >= maxPaths {
		return
	}
	a.Paths = append(a.Paths, valuePath{Path: path, Type: flow.TypeOf(value), Text: previewOf(value).Text})
	members, isObject := flow.AsObject(value)
	if !isObject || depth == maxPathDepth {
		return
	}
	for name, member := range members.All() {
		at := path + "." + name
		if !memberName.MatchString(name) || name == "in" || name == "true" || name == "false" || name == "null" {
			at = path + "[" + string(flow.EncodeJSON(name)) + "]"
		}
		a.addPaths(at, member, depth+1)
	}
}
