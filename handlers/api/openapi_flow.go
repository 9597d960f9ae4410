package api

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/handlers/api/openapi"
)

// showFlowAPI is GET openapi.json of a flow: its paths with the names and types of the
// live version.
func (s *Server) showFlowAPI(c *Call) error {
	f, err := c.FindFlow()
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
	d := s.newDocument(out.Name, out.Description, strconv.FormatInt(f.LiveVersion, 10), componentNames)
	inputs, outputs := openapi.InputsSchema(out.Inputs), openapi.Schema(document.OutputsSchema(out.Outputs))
	d.Components["Inputs"], d.Components["Outputs"] = inputs, described(outputs, "What a run that succeeded gives. An output that is not required may be absent, because its branch was not taken.")
	d.Components["StartRun"] = startSchema(inputs, out.Inputs)
	run := d.Components["Run"].(openapi.Schema)["properties"].(openapi.Schema)
	run["inputs"] = knownNames(inputs, run["inputs"].(openapi.Schema))
	run["outputs"] = knownNames(outputs, run["outputs"].(openapi.Schema))
	for _, r := range s.routes {
		switch {
		case !r.forCallers():
		case strings.Contains(r.Path, ":flow_id"):
			d.Add(r.described(strings.Replace(pathOf(r.Path), "{flow_id}", string(f.ID), 1)))
		case strings.HasPrefix(r.Path, "/v1/files") && openapi.TakesFiles(out.Inputs):
			d.Add(r.described(pathOf(r.Path))) // not needed otherwise
		}
	}
	d.Webhook("outputs", "The flow's webhook nodes", "Sent by each webhook node with its selected outputs.",
		described(optionalMembers(outputs), "The outputs that the webhook node sends. One that was skipped is absent."))
	return d.JSON()
}

// startSchema returns the schema of a start: the inputs and run_options.
func startSchema(inputs openapi.Schema, list []contract.Input) openapi.Schema {
	properties := inputs["properties"].(*flow.Object).Clone()
	properties.Set(contract.ReservedInput, openapi.Ref("RunOptions"))
	start := maps.Clone(inputs)
	start["properties"] = properties
	example := map[string]any{}
	for i := range list {
		switch in := &list[i]; {
		case in.Type == flow.TypeFile:
			example[in.Name] = openapi.FileExample(in)
		case in.Type == flow.TypeMessages && in.Required && !in.HasExample:
			example[in.Name] = flow.UserMessage("Hello")
		case in.TakesFiles() && in.Required && !in.HasExample:
			example[in.Name] = []any{openapi.ExampleFileURL}
		case in.HasExample:
			example[in.Name] = in.Example
		case in.Required:
			return start // an example that lacks a required input would be wrong
		}
	}
	start["examples"] = []any{example}
	return start
}

// described returns a schema with a description.
func described(of openapi.Schema, text string) openapi.Schema {
	s := maps.Clone(of)
	s["description"] = text
	return s
}

// optionalMembers returns the schema of an object without required members.
func optionalMembers(of openapi.Schema) openapi.Schema {
	s := maps.Clone(of)
	delete(s, "required")
	return s
}

// knownNames returns the schema of the inputs or outputs of a run with the properties of the flow.
// No property is required: an output may be skipped, and an erased run has null.
func knownNames(of, in openapi.Schema) openapi.Schema {
	s := maps.Clone(in)
	s["properties"] = of["properties"]
	return s
}
