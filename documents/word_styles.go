package documents

import "strconv"

// wordStyle is what a paragraph or character style says about the text, as far as it changes the text that is shown
// (ECMA-376, section 17.7).
type wordStyle struct {
	based     string // style whose properties it inherits
	numID     string // list of its paragraphs; "" if it does not say
	level     int
	vanish    bool // the text is hidden
	vertical  string
	font      string
	paragraph bool
}

// maxStyleChain bounds how many styles a style inherits from: a chain can be a circle.
const maxStyleChain = 20

// wordStyles reads the styles of a document by their IDs.
func (f *officeFile) wordStyles(part string) (map[string]wordStyle, error) {
	styles := map[string]wordStyle{}
	var id string
	var s wordStyle
	err := f.walk(part, xmlVisitor{
		begin: func(name string, a map[string]string) {
			switch name {
			case "style":
				id, s = a["styleId"], wordStyle{paragraph: a["type"] == "paragraph"}
			case "basedOn":
				s.based = a["val"]
			case "numId":
				s.numID = a["val"]
			case "ilvl":
				s.level = listLevel(a["val"])
			case "vanish":
				s.vanish = isOn(a)
			case "vertAlign":
				s.vertical = a["val"]
			case "rFonts":
				s.font = fontOf(a)
			}
		},
		end: func(name string) {
			if name == "style" && id != "" {
				styles[id], id = s, ""
			}
		}})
	return styles, err
}

// inherited returns the first style, along the styles that a style inherits from, for which a condition holds.
func inherited(styles map[string]wordStyle, id string, holds func(wordStyle) bool) (wordStyle, string) {
	for range maxStyleChain {
		s, known := styles[id]
		if !known {
			break
		}
		if holds(s) {
			return s, id
		}
		id = s.based
	}
	return wordStyle{}, ""
}

// isOn returns the value of an element that is on or off (ST_OnOff); without a value it is on.
func isOn(a map[string]string) bool {
	v, given := a["val"]
	return !given || v == "1" || v == "true" || v == "on"
}

// fontOf returns the font of an rFonts element.
func fontOf(a map[string]string) string {
	if a["ascii"] != "" {
		return a["ascii"]
	}
	return a["hAnsi"]
}

// listLevel reads the level of a list, 0 to 8; an invalid one is 0.
func listLevel(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= listLevels {
		return 0
	}
	return n
}
