package nodes

import (
	"context"

	"sluice/flow"
)

// maxPassages is the maximum of the field "passages". It bounds the size of the output.
const maxPassages = 50

// The find_answer kind finds the passage of a text that answers a question.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "find_answer", Title: "Find answer", Group: groupBuiltin, Icon: "text-search", Class: flow.Compute,
		Summary: "Finds the passage of a text that answers a question.",
		Doc: "Scores every passage of the text, usually a sentence, by how well it answers the question, and outputs the best one " +
			"verbatim. If no passage scores at least 0.3, `answer` is an empty text; `score` and " +
			"`passages` still show the best ones.\n\n" + builtinNote +
			"Connect the passages to a chat node to generate an answer from them.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Help: "The text to search: English, at most 200,000 characters."},
			{Name: "question", Title: "Question", Type: flow.FieldText, Required: true, Help: "The question, in English."},
			{Name: "passages", Title: "Passages", Type: flow.FieldInteger, Default: flow.Number(3), Min: ptr(1), Max: ptr(maxPassages),
				Help: "Passages to output."},
		},
		Outputs: []flow.Port{
			{Name: "answer", Title: "Answer", Type: flow.TypeText, Help: "The best passage; empty if the text does not seem to contain an answer."},
			{Name: "score", Title: "Score", Type: flow.TypeNumber, Help: "How well the best passage answers, from 0 to 1."},
			{Name: "passages", Title: "Passages", Type: flow.TypeList, Schema: listSchema(objectSchema("text", textSchema, "score", numberSchema)), Help: "The best passages, best first, each with its text and score."},
		},
		Example: flow.Example{
			Config: map[string]any{"text": "We ship on weekdays. Returns are free for 30 days. The shop is in Bergen.", "passages": flow.Number(2)},
			Ports:  map[string]any{"question": "How long can I send something back?"},
		},
		Tool: &flow.ToolUse{},
		Run:  func(ctx context.Context, in *flow.In) (flow.Out, error) { return findAnswer(ctx, d.Model, in) },
	}
})

// findAnswer outputs the passage that answers the question best, its score, and the best
// passages.
func findAnswer(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	texts, err := modelTexts(in, "text", "question")
	if err != nil {
		return flow.Out{}, err
	}
	count, err := wholeNumber(in, "passages", 1, maxPassages)
	if err != nil {
		return flow.Out{}, err
	}
	found, err := model.FindAnswer(ctx, string(in.WorkspaceID), texts[0], texts[1], count)
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	passages := make([]any, len(found.Passages))
	for i, p := range found.Passages {
		passages[i] = map[string]any{"text": p.Text, "score": flow.Number(p.Score)}
	}
	return flow.Out{Outputs: map[string]any{
		"answer": found.Answer, "score": flow.Number(found.Score), "passages": passages,
	}}, nil
}
