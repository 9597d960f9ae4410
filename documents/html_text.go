package documents

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// parseHTML parses HTML and replaces elements whose meaning Markdown does not have by characters: raised and lowered digits,
// equations, pronunciations of ruby, letters of lists, and with forms set, the values of form fields. Pages of the web have
// forms for searching, whose values are no content.
//
// The error is that elements are nested too deeply; see nestedHTML.
func parseHTML(text string, forms bool) (*html.Node, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var elements []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			elements = append(elements, n)
		}
	}
	for _, n := range elements {
		switch n.Data {
		case "sup", "sub":
			showShifted(n)
		case "rt":
			if !hasElement(n.Parent, "rp") {
				insertText(n, n.FirstChild, "(")
				insertText(n, nil, ")")
			}
		case "math":
			replaceChildren(n, mathText(n))
		case "ol":
			showLabels(n)
		case "select":
			replaceChildren(n, chosenOption(n))
		case "input", "textarea":
			if forms {
				showValue(n)
			}
		}
	}
	return doc, nil
}

// insertText inserts a text before a child of a node, or at its end.
func insertText(n, before *html.Node, text string) {
	n.InsertBefore(&html.Node{Type: html.TextNode, Data: text}, before)
}

// replaceChildren makes a text the only content of a node, as that of a span.
func replaceChildren(n *html.Node, text string) {
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	n.Data, n.DataAtom, n.Namespace, n.Attr = "span", atom.Span, "", nil
	insertText(n, nil, text)
}

// hasElement reports whether a node has a child element with a name.
func hasElement(n *html.Node, name string) bool {
	if n == nil {
		return false
	}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && c.Data == name {
			return true
		}
	}
	return false
}

// innerText returns the text in a node.
func innerText(n *html.Node) string {
	var b strings.Builder
	if n.Type == html.TextNode {
		return n.Data
	}
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// showShifted writes raised or lowered text as such. Links, such as those to footnotes, stay.
func showShifted(n *html.Node) {
	before := ""
	if n.PrevSibling != nil {
		if s := innerText(n.PrevSibling); s != "" {
			before = s[len(s)-1:]
		}
	}
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && c.Data == "a" {
			return
		}
	}
	text := innerText(n)
	if s := shifted(text, n.Data == "sup", before); s != text {
		replaceChildren(n, s)
	}
}

// listFormats are the formats of formatNumber by the names that HTML and OpenDocument have for them.
var listFormats = map[string]string{"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}

// showLabels writes the labels of a list with letters or Roman numbers, since Markdown has only digits.
func showLabels(n *html.Node) {
	format := listFormats[attribute(n, "type")]
	if format == "" {
		return
	}
	number := 1
	if start, err := strconv.Atoi(attribute(n, "start")); err == nil {
		number = start
	}
	for item := range n.ChildNodes() {
		if item.Type != html.ElementNode || item.Data != "li" {
			continue
		}
		if value, err := strconv.Atoi(attribute(item, "value")); err == nil {
			number = value
		}
		into := item
		if first := item.FirstChild; first != nil && first.Type == html.ElementNode && first.Data == "p" {
			into = first
		}
		insertText(into, into.FirstChild, formatNumber(number, format)+". ")
		number++
	}
	n.Data, n.DataAtom = "ul", atom.Ul
}

// chosenOption returns the text of the selected option of a list, or of the first one, which browsers select.
func chosenOption(n *html.Node) string {
	text, found := "", false
	for c := range n.Descendants() {
		if c.Type != html.ElementNode || c.Data != "option" {
			continue
		}
		if _, selected := lookup(c, "selected"); selected || !found {
			text = strings.TrimSpace(innerText(c))
			if found = true; selected {
				break
			}
		}
	}
	return text
}

// lookup returns an attribute, and whether the element has it.
func lookup(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// showValue writes the value of a form field.
func showValue(n *html.Node) {
	if n.Data == "textarea" {
		replaceChildren(n, innerText(n))
		return
	}
	_, checked := lookup(n, "checked")
	switch strings.ToLower(attribute(n, "type")) {
	case "checkbox", "radio":
		replaceChildren(n, checkMark(checked))
	case "", "text", "email", "tel", "number", "date", "time", "datetime-local", "month", "week", "url", "search", "color", "range":
		if value := attribute(n, "value"); value != "" {
			replaceChildren(n, value)
		}
	}
}

// mathText returns an equation of MathML as text in a line: the TeX source, if a program has left it there, or else as the
// equations of Word are written.
func mathText(n *html.Node) string {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && c.Data == "annotation" && strings.Contains(attribute(c, "encoding"), "tex") {
			return strings.TrimSpace(innerText(c))
		}
	}
	return oneLine(linearMath(n))
}

// linearMath returns an element of MathML in linear form; see mathStructure.
func linearMath(n *html.Node) string {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data)
	}
	var parts []string
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && (c.Data == "annotation" || c.Data == "annotation-xml") {
			continue
		}
		if s := linearMath(c); s != "" || c.Type == html.ElementNode {
			parts = append(parts, s)
		}
	}
	all := strings.Join(parts, "")
	structure := func(name string, names ...string) string {
		if len(parts) < len(names) {
			return all
		}
		s := mathStructure{name: name, parts: map[string][]string{}}
		for i, part := range names {
			s.parts[part] = []string{parts[i]}
		}
		return s.linear()
	}
	switch n.Data {
	case "mfrac":
		return structure("f", "num", "den")
	case "msup":
		return structure("sSup", "e", "sup")
	case "msub":
		return structure("sSub", "e", "sub")
	case "msubsup", "munderover":
		return structure("sSubSup", "e", "sub", "sup")
	case "munder":
		return structure("limLow", "e", "lim")
	case "mroot":
		return structure("rad", "e", "deg")
	case "msqrt":
		return "√" + grouped(all)
	case "mtr":
		return strings.Join(parts, ", ") + "; "
	case "mtable":
		return "(" + strings.TrimSuffix(all, "; ") + ")"
	}
	return all
}
