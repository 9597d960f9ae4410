package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"sluice/flow"
	"sluice/providers/builtin"
)

// languagesShown is the maximum number of languages in the output "scores".
const languagesShown = 5

// The detect_language kind detects the language of a text.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "detect_language", Title: "Detect language", Group: groupBuiltin, Icon: "languages", Class: flow.Compute,
		Summary: "Detects which of 50 languages a text is written in.",
		Doc: "Outputs the language of a text as a code such as `en` or `de`, with its English name. It uses a small built-in neural network: " +
			"it needs no key and no network. A sentence is enough; a single word often is not, and close relatives such as Danish and Norwegian " +
			"or Croatian and Serbian are sometimes confused.\n\n" +
			"Check `score` before acting on `language`: a text in an unsupported language gets the most similar one. Connect `language` to a " +
			"`switch` to branch by language.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Help: "The text: a sentence to a few paragraphs, at most 200,000 characters."},
		},
		Outputs: []flow.Port{
			{Name: "language", Title: "Language", Type: flow.TypeText, Help: "The code of the most likely language, such as en: ISO 639-1, or ckb for Central Kurdish, which has no two-letter code."},
			{Name: "name", Title: "Name", Type: flow.TypeText, Help: "Its English name, such as German."},
			{Name: "score", Title: "Score", Type: flow.TypeNumber, Help: "How likely it is, from 0 to 1."},
			{Name: "scores", Title: "Scores", Type: flow.TypeList, Schema: listSchema(objectSchema("language", textSchema, "name", textSchema, "score", numberSchema)), Help: "The five most likely languages, each with language, name and score."},
		},
		Example: flow.Example{Ports: map[string]any{"text": "Where is my parcel?"}},
		Tool:    &flow.ToolUse{},
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return detectLanguage(ctx, d.Model, in) },
	}
})

// detectLanguage outputs the most probable language with its score, and the languagesShown
// most probable ones.
func detectLanguage(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	text, err := modelText(in, "text")
	if err != nil {
		return flow.Out{}, err
	}
	ranked, err := model.DetectLanguage(ctx, text)
	if errors.Is(err, builtin.ErrNoLetters) {
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "The text holds no letters, so there is no language to detect. Give at least a few words.")
	}
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	scores := make([]any, 0, languagesShown)
	for _, l := range ranked[:min(languagesShown, len(ranked))] {
		scores = append(scores, map[string]any{"language": l.Code, "name": l.Name, "score": rounded(l.Score)})
	}
	best := ranked[0]
	return flow.Out{Outputs: map[string]any{"language": best.Code, "name": best.Name, "score": rounded(best.Score), "scores": scores}}, nil
}

// rounded returns a score rounded to six digits. Further digits carry no
// information and differ between machines.
func rounded(score float64) json.Number { return flow.Number(math.Round(score*1e6) / 1e6) }
