package editor

import (
	"sluice/flow"
	"sluice/handlers/web"
)

// readInputs reads the form of a test run and stores its files.
func (c *call) readInputs() (*web.Inputs, error) {
	t := c.NewInputs(c.WorkspaceID(), c.s.MaxFile)
	fields, err := c.ReadInputFields(t)
	if err != nil {
		return nil, err
	}
	t.Options = web.TestRunOptions{Until: fields["until"], From: fields["from"], Parent: fields["parent"], Drafts: flow.ParseChildVersions(fields["children"]) == flow.ChildrenDraft}
	t.Filled, t.Tab = fields["filled"] != "", fields["tab"]
	t.Parse(fields)
	return t, nil
}
