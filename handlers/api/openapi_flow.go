package api

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// showFlowAPI is GET openapi.json of a flow: its paths with the names and types of the
// live version.
func (s *Server) showFlowAPI(c *Call) error {
	f, err := c.findFlow()
	if err != nil {
		return err
	}
	if f.LiveVersion == 0 {
		return flow.Errorf(flow.CodeNotPublished, "This flow has no published version, so there is nothing to call yet.")
	}
	out, err := s.Outlines.Find(c.Request().Context(), f.WorkspaceID, f.LiveHash)
	if err != nil {
		return err
	}
	return c.writeBody(http.StatusOK, s.flowDocument(f, out))
}

// flowDocument returns the OpenAPI document of one flow.
func (s *Server) flowDocument(f *flow.Flow, out *Outline) []byte {
	d := newAPI(s, out.Name, out.Description, strconv.FormatInt(f.LiveVersion, 10))
	inputs, outputs := InputsSchema(out.Inputs), schema(OutputsSchema(out.Outputs))
	d.components["Inputs"], d.components["Outputs"] = inputs, outputs
	d.components["StartRun"] = startSchema(inputs, out.Inputs)
	run := d.components["Run"].(schema)["properties"].(schema)
	run["inputs"] = knownNames(inputs, run["inputs"].(schema))
	run["outputs"] = knownNames(outputs, run["outputs"].(schema))
	for i := range s.routes {
		switch r := &s.routes[i]; {
		case slices.Contains([]access{accessEdit, accessDraft, accessDocument}, r.access): // for authors, not callers
		case strings.Contains(r.path, ":flow_id"):
			d.add(r, strings.Replace(pathOf(r.path), "{flow_id}", f.ID, 1))
		case strings.HasPrefix(r.path, "/v1/files") && takesFiles(out.Inputs):
			d.add(r, pathOf(r.path)) // not needed otherwise
		}
	}
	d.webhook("runEnded", "The webhook of a run", "Sent to run_options.webhook when the run has ended.", ref("RunEnded"))
	d.webhook("runWaiting", "The webhook of a run that waits", "Sent to run_options.webhook when the run waits for a person to answer an approval.", ref("RunWaiting"))
	d.webhook("outputs", "The flow's webhook nodes", "Sent by each webhook node with its selected outputs.", ref("Outputs"))
	return flow.EncodeJSON(d.document())
}

// startSchema returns the schema of a start: the inputs and run_options.
func startSchema(inputs schema, list []contract.Input) schema {
	properties := maps.Clone(inputs["properties"].(schema))
	properties[contract.ReservedInput] = ref("RunOptions")
	start := maps.Clone(inputs)
	start["properties"] = properties
	example := map[string]any{}
	for i := range list {
		switch in := &list[i]; {
		case in.Type == flow.TypeFile:
			example[in.Name] = fileExample(in)
		case in.Type == flow.TypeMessages && in.Required && !in.HasExample:
			example[in.Name] = flow.UserMessage("Hello")
		case in.TakesFiles() && in.Required && !in.HasExample:
			example[in.Name] = []any{exampleFileURL}
		case in.HasExample:
			example[in.Name] = in.Example
		case in.Required:
			return start // an example that lacks a required input would be wrong
		}
	}
	start["examples"] = []any{example}
	return start
}

// knownNames returns the schema of the inputs or outputs of a run with typed properties.
// None is required: an output may be skipped, and an erased run has null.
func knownNames(of, in schema) schema {
	s := maps.Clone(in)
	s["properties"] = of["properties"]
	return s
}
