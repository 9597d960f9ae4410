package javascript

import (
	"slices"
	"strings"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// comparison is the order in which localeCompare compares texts.
type comparison struct {
	language    string // of sorted
	numeric     bool   // digits compare as numbers
	sensitivity string // base, accent or variant
	upperFirst  bool   // uppercase letters precede their lowercase letters
}

// plainOrder is the order without a locale: that of the root of all languages, which sorts like
// English.
var plainOrder = comparison{language: "en", sensitivity: "variant"}

// sorted are the languages by which texts are compared, with the language whose rules they have.
// The rules of package collate for them are those of browsers; for other languages they are
// older, or missing.
var sorted = func() map[string]string {
	list := map[string]string{"no": "nn", "nb": "nn"}
	for _, name := range sortedNames {
		list[name] = name
	}
	return list
}()

// sortedNames are the languages with rules, alphabetically.
var sortedNames = strings.Fields("af am ca cs cy da de en es et eu fi fil fo fr ga gl hu id is it kl lb ln lt ms my nl nn pl pt ro se sk sl sq sv sw tr vi zu")

// collators compare texts for one machine, which is not used concurrently.
type collators struct {
	byOrder   map[comparison]*collate.Collator
	languages map[string]string // of sorted, by locale
}

func newCollators() *collators {
	return &collators{byOrder: map[comparison]*collate.Collator{}, languages: map[string]string{"": plainOrder.language}}
}

// language returns the language of sorted whose rules a locale has; ok is false if it is unknown,
// or has extensions, which change the rules.
func (all *collators) language(locale string) (name string, ok bool) {
	if name, ok = all.languages[locale]; ok {
		return name, true
	}
	tag, err := language.Parse(locale)
	if err != nil || len(tag.Extensions()) > 0 {
		return "", false
	}
	base, _ := tag.Base()
	if name, ok = sorted[base.String()]; ok {
		all.languages[locale] = name
	}
	return name, ok
}

// compare returns -1, 0 or 1.
func (all *collators) compare(a, b string, c comparison) int {
	if !c.upperFirst || c.sensitivity != "variant" {
		return all.find(c).CompareString(a, b)
	}
	c.upperFirst = false
	ignoringCase := c
	ignoringCase.sensitivity = "accent"
	if result := all.find(ignoringCase).CompareString(a, b); result != 0 {
		return result
	}
	return -all.find(c).CompareString(a, b)
}

// find returns the collator of a comparison. There are few: languages times options.
func (all *collators) find(c comparison) *collate.Collator {
	found := all.byOrder[c]
	if found != nil {
		return found
	}
	var options []collate.Option
	if c.numeric {
		options = append(options, collate.Numeric)
	}
	switch c.sensitivity {
	case "base":
		options = append(options, collate.Loose)
	case "accent":
		options = append(options, collate.IgnoreCase)
	}
	found = newCollator(slices.Index(sortedNames, c.language), options...)
	all.byOrder[c] = found
	return found
}

// hostCompare compares two texts: in plainOrder, or in the order of the arguments of
// localeCompare. It returns undefined if the locale cannot be honored.
func (m *machine) hostCompare(args []any) (any, error) {
	if len(args) == 2 {
		return m.collators.compare(text(args, 0), text(args, 1), plainOrder), nil
	}
	name, ok := m.collators.language(text(args, 2))
	if !ok {
		return nil, nil
	}
	numeric, _ := args[3].(bool)
	caseFirst := text(args, 5)
	c := comparison{name, numeric, text(args, 4), caseFirst == "upper" || caseFirst == "" && name == "da"}
	return m.collators.compare(text(args, 0), text(args, 1), c), nil
}
