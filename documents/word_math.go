package documents

import (
	"slices"
	"strings"
	"unicode"
)

// mathWriter collects the structures of an equation (Office Math, ECMA-376 part 1, section 22.1), which are written in a
// linear form that people and models read: 1/2, 10^6, x_2, √16. It is that of Unicode Technical Note 28, without its
// invisible operators.
type mathWriter struct {
	depth int // open equations
	open  []mathStructure
}

// mathStructure is an open structure, such as a fraction, with the texts of its finished parts.
type mathStructure struct {
	name  string
	start int // of the structure in the line
	parts map[string][]string
	props map[string]string
	begun []int // starts of open parts
	rows  [][]string
}

// mathStructures are the elements that have parts; mathParts are the elements of parts.
var (
	mathStructures = []string{"f", "sSup", "sSub", "sSubSup", "sPre", "rad", "nary", "d", "func", "limLow", "limUpp", "acc", "bar", "groupChr", "m", "eqArr", "phant", "box", "borderBox"}
	mathParts      = []string{"num", "den", "e", "sub", "sup", "deg", "fName", "lim"}
)

// maxMathDepth bounds the nesting of structures; deeper ones are written without their signs.
const maxMathDepth = 100

// beginMath handles the start of an element of an equation.
func (w *wordWriter) beginMath(name, parent string, a map[string]string) {
	m := &w.math
	if name == "oMath" {
		m.depth++
		if parent == "oMathPara" && w.block.line.Len() > w.block.paragraph.start {
			w.lineBreak() // several equations in one paragraph
		}
		return
	}
	top := m.top()
	switch {
	case slices.Contains(mathStructures, name):
		if len(m.open) < maxMathDepth {
			m.open = append(m.open, mathStructure{name: name, start: w.block.line.Len(), parts: map[string][]string{}, props: map[string]string{}})
		} else {
			w.lost = true
		}
	case w.file == nil && (top == nil || !slices.Contains(mathParts, name) && !strings.HasSuffix(parent, "Pr")): // on a slide
	case top == nil:
		w.element(name, parent, a)
	case slices.Contains(mathParts, name):
		top.begun = append(top.begun, w.block.line.Len())
	case strings.HasSuffix(parent, "Pr"):
		v, given := a["val"]
		if !given {
			v = "on"
		}
		top.props[name] = v
	default:
		w.element(name, parent, a)
	}
}

// top returns the innermost open structure, or nil.
func (m *mathWriter) top() *mathStructure {
	if len(m.open) == 0 {
		return nil
	}
	return &m.open[len(m.open)-1]
}

// endMath handles the end of an element of an equation.
func (w *wordWriter) endMath(name string) {
	m := &w.math
	top := m.top()
	switch {
	case name == "oMath":
		if m.depth--; m.depth == 0 {
			m.open = nil
		}
	case top != nil && name == top.name:
		m.open = m.open[:len(m.open)-1]
		w.cut(top.start) // white space between the parts
		w.put(top.linear())
	case top != nil && slices.Contains(mathParts, name) && len(top.begun) > 0:
		start := top.begun[len(top.begun)-1]
		top.begun = top.begun[:len(top.begun)-1]
		top.parts[name] = append(top.parts[name], strings.TrimSpace(w.cut(start)))
	case top != nil && name == "mr":
		top.rows, top.parts["e"] = append(top.rows, top.parts["e"]), nil
	default:
		w.endElement(name)
	}
}

// part returns the text of a part, or "".
func (s *mathStructure) part(name string) string {
	return strings.Join(s.parts[name], "")
}

// prop returns a property, or a default if it is not given.
func (s *mathStructure) prop(name, otherwise string) string {
	if v, given := s.props[name]; given {
		return v
	}
	return otherwise
}

// linear returns the structure as text.
func (s *mathStructure) linear() string {
	e, sub, sup := s.part("e"), s.part("sub"), s.part("sup")
	switch s.name {
	case "f":
		if s.prop("type", "bar") == "noBar" {
			return grouped(s.part("num")) + "¦" + grouped(s.part("den"))
		}
		return grouped(s.part("num")) + "/" + grouped(s.part("den"))
	case "sSup":
		return grouped(e) + script("^", sup)
	case "sSub":
		return grouped(e) + script("_", sub)
	case "sSubSup":
		return grouped(e) + script("_", sub) + script("^", sup)
	case "sPre":
		return script("_", sub) + script("^", sup) + grouped(e)
	case "rad":
		return s.root()
	case "nary":
		return s.prop("chr", "∫") + script("_", sub) + script("^", sup) + " " + e
	case "d":
		return s.prop("begChr", "(") + strings.Join(s.parts["e"], s.prop("sepChr", "|")) + s.prop("endChr", ")")
	case "func":
		name := s.part("fName")
		if strings.HasPrefix(e, "(") {
			return name + e
		}
		return name + " " + e
	case "limLow":
		return e + script("_", s.part("lim"))
	case "limUpp":
		return e + script("^", s.part("lim"))
	}
	return s.decorated(e)
}

// decorated returns structures that add a sign to their content, and matrices.
func (s *mathStructure) decorated(e string) string {
	switch s.name {
	case "acc":
		return grouped(e) + s.prop("chr", "\u0302")
	case "bar":
		if s.prop("pos", "bot") == "top" {
			return grouped(e) + "\u0305"
		}
		return grouped(e) + "\u0332"
	case "groupChr":
		return grouped(e) + s.prop("chr", "⏟")
	case "eqArr":
		return strings.Join(s.parts["e"], "; ")
	case "m":
		rows := []string{}
		for _, row := range s.rows {
			rows = append(rows, strings.Join(row, ", "))
		}
		return "(" + strings.Join(rows, "; ") + ")"
	case "phant": // takes up space, and shows its content only if it says so
		if v := s.prop("show", "on"); v == "0" || v == "off" || v == "false" {
			return ""
		}
	}
	return e
}

// root returns a root. Without a degree, or if that is hidden, it is a square root.
func (s *mathStructure) root() string {
	e, degree := grouped(s.part("e")), s.part("deg")
	hidden := s.prop("degHide", "0")
	switch {
	case degree == "" || hidden == "1" || hidden == "on" || hidden == "true":
		return "√" + e
	case degree == "3":
		return "∛" + e
	case degree == "4":
		return "∜" + e
	}
	return "√(" + degree + "&" + s.part("e") + ")"
}

// script returns an index or exponent with its sign, or "" for an empty one.
func script(sign, s string) string {
	if s == "" {
		return ""
	}
	return sign + grouped(s)
}

// grouped puts a text into parentheses, unless it is one number or word, or has them.
func grouped(s string) string {
	depth := 0
	simple := true
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
			if depth == 0 && i != len(s)-1 {
				simple = false
			}
		case depth == 0 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '.' && r != ',' && r != '∞' && r != '′' && r != '%' && r != '°':
			simple = false
		}
		if depth == 0 && i > 0 && r == '(' {
			simple = false
		}
	}
	if simple && depth == 0 {
		return s
	}
	return "(" + s + ")"
}
