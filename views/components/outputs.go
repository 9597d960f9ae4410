package components

import (
	"fmt"
	"strconv"
)

// OutputView is a value as the result of a run or of a step.
type OutputView struct {
	ValueView
	// From is the title of the node that chose the value among labels, and Scores are the
	// scores of these labels, best first. Both are empty for other values.
	From   string
	Scores []LabelScore
	// Hits are the passages that a search found, if that is the value.
	Hits []Hit
	// Rendered is the HTML that package markdown made of the value, if it is Markdown.
	Rendered string
}

// LabelScore is a label with its score from 0 to 1.
type LabelScore struct {
	Label string  `json:"label"`
	Score float64 `json:"score"`
}

// text formats the score with two decimals, as on the canvas.
func (s LabelScore) text() string { return fmt.Sprintf("%.2f", s.Score) }

// exact formats the score with all its digits.
func (s LabelScore) exact() string { return strconv.FormatFloat(s.Score, 'f', -1, 64) }
