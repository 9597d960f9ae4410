package nodes

import (
	"errors"
	"math"

	"github.com/ledongthuc/pdf"
)

// pdfMatrix is [a b c d e f]: where a point of a page goes.
type pdfMatrix [6]float64

// then applies m before n.
func (m pdfMatrix) then(n pdfMatrix) pdfMatrix {
	return pdfMatrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

var pdfIdentity = pdfMatrix{1, 0, 0, 1, 0, 0}

// pdfState is what decides where text goes and how large it is.
type pdfState struct {
	page, text, line                                 pdfMatrix
	font                                             *pdfFont
	size, charSpace, wordSpace, scale, leading, rise float64
}

func newPDFState() pdfState {
	return pdfState{page: pdfIdentity, text: pdfIdentity, line: pdfIdentity, scale: 1}
}

// pdfWriter follows the operators of a page and hands its text to the layout.
type pdfWriter struct {
	state  pdfState
	stack  []pdfState
	fonts  map[string]*pdfFont
	layout pdfLayout
	steps  int
}

// maxPDFSteps is how many operators a page may have; drawings have some 100,000.
const maxPDFSteps = 20_000_000

var errPDFSteps = errors.New("too many operators")

// draw carries out a content stream.
func (w *pdfWriter) draw(data []byte, resources pdf.Value, depth int) error {
	tokens := &pdfTokens{data: data}
	var args []any
	for {
		token, ok := tokens.next(0)
		if !ok {
			return nil
		}
		op, isOp := token.(pdfOperator)
		if !isOp {
			if len(args) < 100 { // no operator takes more
				args = append(args, token)
			}
			continue
		}
		if w.steps++; w.steps > maxPDFSteps {
			return errPDFSteps
		}
		switch op {
		case "ID":
			tokens.skipImage()
		case "Do":
			if err := w.form(args, resources, depth); err != nil {
				return err
			}
		case "Tf":
			w.setFont(args, resources)
		default:
			w.do(op, args)
		}
		args = args[:0]
	}
}

// form draws a form, which is a stream of its own.
func (w *pdfWriter) form(args []any, resources pdf.Value, depth int) error {
	name, _ := last(args).(pdfName)
	form := resources.Key("XObject").Key(string(name))
	if form.Key("Subtype").Name() != "Form" || depth >= maxPDFForms || len(w.stack) > 1000 {
		return nil
	}
	kept := w.state
	if m := form.Key("Matrix"); m.Len() == 6 {
		var matrix pdfMatrix
		for i := range matrix {
			matrix[i] = m.Index(i).Float64()
		}
		w.state.page = matrix.then(w.state.page)
	}
	if own := form.Key("Resources"); own.Kind() == pdf.Dict {
		resources = own
	}
	err := w.draw(streamData(form), resources, depth+1)
	w.state = kept
	return err
}

func (w *pdfWriter) setFont(args []any, resources pdf.Value) {
	if len(args) < 2 {
		return
	}
	name, _ := args[len(args)-2].(pdfName)
	w.state.size, _ = last(args).(float64)
	v := resources.Key("Font").Key(string(name))
	key := string(name) + v.Key("BaseFont").Name() + v.Key("ToUnicode").String()
	if w.fonts[key] == nil {
		w.fonts[key] = loadPDFFont(v)
	}
	w.state.font = w.fonts[key]
}

// loadPDFFont makes do with ordinary letters where a font is broken.
func loadPDFFont(v pdf.Value) (f *pdfFont) {
	defer func() {
		if recover() != nil {
			f = &pdfFont{lengths: []int{1}, width: typicalWidth}
			for c := range f.simple {
				f.simple[c] = string(rune(c))
			}
		}
	}()
	return newPDFFont(v)
}

func last(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[len(args)-1]
}

// lastNumbers are the last n arguments, or ok is false.
func lastNumbers(args []any, n int) (list []float64, ok bool) {
	if len(args) < n {
		return nil, false
	}
	list = make([]float64, n)
	for i, arg := range args[len(args)-n:] {
		if list[i], ok = arg.(float64); !ok || math.IsNaN(list[i]) || math.Abs(list[i]) > 1e9 {
			return nil, false
		}
	}
	return list, true
}

// do carries out an operator that needs nothing but the state.
func (w *pdfWriter) do(op pdfOperator, args []any) {
	s := &w.state
	switch op {
	case "q":
		if len(w.stack) < 1000 {
			w.stack = append(w.stack, *s)
		}
	case "Q":
		if n := len(w.stack); n > 0 {
			*s, w.stack = w.stack[n-1], w.stack[:n-1]
		}
	case "BT":
		s.text, s.line = pdfIdentity, pdfIdentity
	case "T*":
		w.move(0, -s.leading)
	case "Tj":
		w.show(last(args))
	case "TJ":
		w.showAll(last(args))
	case "'":
		w.move(0, -s.leading)
		w.show(last(args))
	case "\"":
		if n, ok := lastNumbers(args[:max(0, len(args)-1)], 2); ok {
			s.wordSpace, s.charSpace = n[0], n[1]
		}
		w.move(0, -s.leading)
		w.show(last(args))
	case "cm", "Tm", "Td", "TD":
		w.place(op, args)
	default:
		w.set(op, args)
	}
}

// place carries out the operators that take a matrix or a distance.
func (w *pdfWriter) place(op pdfOperator, args []any) {
	s := &w.state
	count := map[pdfOperator]int{"cm": 6, "Tm": 6, "Td": 2, "TD": 2}[op]
	n, ok := lastNumbers(args, count)
	if !ok {
		return
	}
	switch op {
	case "cm":
		s.page = pdfMatrix(n).then(s.page)
	case "Tm":
		s.text, s.line = pdfMatrix(n), pdfMatrix(n)
	case "TD":
		s.leading = -n[1]
		w.move(n[0], n[1])
	case "Td":
		w.move(n[0], n[1])
	}
}

// set carries out the operators that keep one number.
func (w *pdfWriter) set(op pdfOperator, args []any) {
	s := &w.state
	target := map[pdfOperator]*float64{"Tc": &s.charSpace, "Tw": &s.wordSpace, "TL": &s.leading, "Ts": &s.rise, "Tz": &s.scale}[op]
	n, ok := lastNumbers(args, 1)
	if target == nil || !ok {
		return
	}
	*target = n[0]
	if op == "Tz" {
		*target /= 100
	}
}

func (w *pdfWriter) move(x, y float64) {
	s := &w.state
	s.line = pdfMatrix{1, 0, 0, 1, x, y}.then(s.line)
	s.text = s.line
}

func (w *pdfWriter) showAll(v any) {
	list, _ := v.([]any)
	for _, item := range list {
		if shift, ok := item.(float64); ok {
			w.advance(-shift / 1000 * w.state.size * w.state.scale)
			continue
		}
		w.show(item)
	}
}

func (w *pdfWriter) advance(x float64) {
	w.state.text = pdfMatrix{1, 0, 0, 1, x, 0}.then(w.state.text)
}

// show hands each character of a string to the layout, with its place.
func (w *pdfWriter) show(v any) {
	text, ok := v.(pdfString)
	s := &w.state
	if !ok || s.font == nil {
		return
	}
	for _, g := range s.font.glyphs(text) {
		at := pdfMatrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.then(s.text).then(s.page)
		width := g.width / 1000
		w.layout.add(g.text, at, width)
		x := width*s.size + s.charSpace
		if g.blank {
			x += s.wordSpace
		}
		w.advance(x * s.scale)
	}
}
