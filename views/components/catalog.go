package components

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"sluice/static"
)

// ModelGroup is the models of one provider, local server, or category of hosted models.
type ModelGroup struct {
	// Name is the provider's ID or the category's slug.
	Name, Title string
	// Place says how the models are reached.
	Place ModelPlace
	// Hint is a short remark beside the title, such as the provider's tasks.
	Hint string
	// KeysURL is the page on which users create an API key.
	KeysURL string
	// Address is an example of the base URL of a server of one's own; "" if the provider has one address.
	Address string
	// Note says why the models could not be listed.
	Note   string
	Models []ModelChoice
}

// ModelPlace says how models are reached.
type ModelPlace string

// The places. PlaceOffered is a provider without a credential: its models are known,
// but cannot run until it is connected. PlaceOwn is a server whose address the user enters.
const (
	PlaceHosted    ModelPlace = ""
	PlaceLocal     ModelPlace = "local"
	PlaceConnected ModelPlace = "connected"
	PlaceOffered   ModelPlace = "offered"
	PlaceOwn       ModelPlace = "own"
)

// ModelChoice is a model that a node can use.
type ModelChoice struct {
	ID, Title, Text string
	// Detail is further information about the model, such as its family.
	Detail string
	// Context is the size of the context window, such as 128K, and Price the price per
	// million tokens in and out. Both are empty if unknown.
	Context, Price string
	// PriceNote names the source of the price.
	PriceNote string
	// Can are the abilities that the provider states: Vision, Tools, JSON.
	Can []string
	// Category is the slug of a hosted model's category, Tags are its uses.
	Category string
	Tags     []string
	// Runs is how often a hosted model ran, such as "12M runs"; "" if unknown.
	Runs string
	// Output is the type of the model's result, such as image.
	Output string
}

// InputPrice returns the price of a million input tokens in dollars, and whether it is known. price is
// ModelChoice.Price or "Free".
func InputPrice(price string) (dollars float64, known bool) {
	if price == "Free" {
		return 0, true
	}
	in, _, _ := strings.Cut(strings.TrimPrefix(price, "$"), " ")
	dollars, err := strconv.ParseFloat(in, 64)
	return dollars, err == nil && strings.HasPrefix(price, "$")
}

// AbilityIcon returns the icon of an ability in ModelChoice.Can.
func AbilityIcon(ability string) string {
	switch ability {
	case "Vision":
		return "eye"
	case "Tools":
		return "wrench"
	}
	return "braces"
}

// Monogram abbreviates a name to its first letter and the next capital that starts a word: OR
// for OpenRouter, HF for Hugging Face.
func Monogram(name string) string {
	var letters []rune
	before := ' '
	for _, r := range name {
		begins := before == ' ' || before == '-' || unicode.IsLower(before) && unicode.IsUpper(r)
		if len(letters) < 2 && unicode.IsLetter(r) && begins && (len(letters) == 0 || unicode.IsUpper(r)) {
			letters = append(letters, unicode.ToUpper(r))
		}
		before = r
	}
	return string(letters)
}

// MarkHue returns one of eight monogram colors. It depends only on the name.
func MarkHue(name string) string {
	var sum uint32
	for _, b := range []byte(name) {
		sum = sum*31 + uint32(b)
	}
	return "hue-" + string(rune('0'+sum%8))
}

// TaskWords returns labels for the tasks of node kinds that call models.
func TaskWords(kinds []string) (words []string) {
	names := map[string]string{"chat": "Chat", "embed": "Embeddings", "image": "Images", "speech": "Speech", "transcribe": "Transcription", "hosted_model": "Hosted models"}
	for _, k := range kinds {
		words = append(words, cmp.Or(names[k], k))
	}
	return words
}

// PickerSheet returns the URL of the model list's style sheet, which the script loads when the
// list is first opened.
func PickerSheet() string { return static.URL("picker.css") }

// Upgrade describes the changes of another version of a node's model or child flow.
type Upgrade struct {
	FlowID, Node string
	Name         string // of the model or flow
	Version      int64  // of a flow; 0 for a model
	// Newest is set if there is no newer version.
	Newest  bool
	Changes []UpgradeChange
	// Misfits are values and edges that are kept but no longer fit.
	Misfits []string
}

// Headline says which version is newer.
func (u Upgrade) Headline() string {
	if u.Version > 0 {
		return fmt.Sprintf("Version %d of %s changes:", u.Version, u.Name)
	}
	return "There is a newer version of " + u.Name + "."
}

// UpgradeChange is one difference between versions.
type UpgradeChange struct {
	Sentence string
	Breaking bool
}
