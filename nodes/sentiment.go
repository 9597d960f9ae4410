package nodes

import (
	"context"

	"sluice/flow"
	"sluice/providers/builtin"
)

// neutralBelow is the absolute score below which a text is neutral, as VADER's
// authors recommend.
const neutralBelow = 0.05

// The sentiment kind scores whether a text is positive or negative.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "sentiment", Title: "Sentiment", Group: groupBuiltin, Icon: "smile", Class: flow.Compute,
		Summary: "Detects whether a text sounds positive, neutral or negative.",
		Doc: "Looks words up in a list of positive and negative words, and considers negations, words such as `very`, capitals, " +
			"exclamation marks and emoji. A text of several sentences gets the mean of its sentences.\n\n" +
			"The list is VADER, made for English reviews and posts. It needs no key and no network, scores text and does not generate any. " +
			"It understands neither irony nor the topic of a text, and other languages are scored as neutral. " +
			"For those, use a chat model, or `classify` with your own labels.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Help: "What to score: English text of at most 200,000 characters."},
		},
		Outputs: []flow.Port{
			{Name: "label", Title: "Label", Type: flow.TypeText, Schema: map[string]any{"type": "string", "enum": []any{"positive", "neutral", "negative"}}, Help: "One of positive, neutral or negative: positive from a score of 0.05, negative from -0.05."},
			{Name: "score", Title: "Score", Type: flow.TypeNumber, Help: "From -1, most negative, to 1, most positive."},
			{Name: "scores", Title: "Scores", Type: flow.TypeJSON, Schema: objectSchema("positive", numberSchema, "neutral", numberSchema, "negative", numberSchema), Help: "An object that says how much of the text is positive, neutral and negative. The three add up to 1."},
		},
		Example: flow.Example{Ports: map[string]any{"text": "I love it, and the support was great!"}},
		Tool:    &flow.ToolUse{},
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return scoreSentiment(ctx, d.Model, in) },
	}
})

// scoreSentiment outputs a label, the score from -1 (negative) to 1 (positive), and the
// shares of positive, neutral and negative words.
func scoreSentiment(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	text, err := modelText(in, "text")
	if err != nil {
		return flow.Out{}, err
	}
	s, err := model.Sentiment(ctx, text)
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	return flow.Out{Outputs: map[string]any{
		"label": sentimentLabel(s), "score": rounded(s.Compound),
		"scores": map[string]any{"positive": rounded(s.Positive), "neutral": rounded(s.Neutral), "negative": rounded(s.Negative)},
	}}, nil
}

// sentimentLabel returns "positive" or "negative" for scores beyond neutralBelow, otherwise
// "neutral".
func sentimentLabel(s builtin.Sentiment) string {
	switch {
	case s.Compound >= neutralBelow:
		return "positive"
	case s.Compound <= -neutralBelow:
		return "negative"
	}
	return "neutral"
}
