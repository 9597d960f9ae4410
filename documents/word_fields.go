package documents

import (
	"slices"
	"strconv"
	"strings"
)

// wordField is an open field: a code, such as HYPERLINK or PAGE, and the result that the program computed from it when it
// last updated the field (ECMA-376, section 17.16). Word shows the result. Fields lie inside one another, also in codes.
type wordField struct {
	code     []byte
	inResult bool
	replaced bool // its result is written already and not shown again
	filled   bool // it lies in the code of another field, which has its result
	start    int  // of the result in the line
	link     bool
}

// formField is the description of a form field (ffData) that is being read.
type formField struct {
	open             bool
	box, list        bool
	checked, given   bool
	result, standard int
	entries          []string
}

const (
	// maxFields is the maximum nesting of fields.
	maxFields = 100
	// maxFieldCode bounds the code of a field in bytes.
	maxFieldCode = 16 << 10
)

// fieldHides reports whether the writer is in the code of a field, or in a result that is not shown.
func (w *wordWriter) fieldHides() bool { return slices.ContainsFunc(w.fields, wordField.hides) }

// hides reports whether what lies in the field is not shown.
func (f wordField) hides() bool { return !f.inResult || f.replaced }

// fieldCode adds to the code of the innermost field.
func (w *wordWriter) fieldCode(s string) {
	if n := len(w.fields); n > 0 && len(w.fields[n-1].code) < maxFieldCode {
		w.fields[n-1].code = append(w.fields[n-1].code, s...)
	}
}

// resultInCode adds the result of a field to the code of the field whose code it lies in.
func (w *wordWriter) resultInCode(s string) {
	for i := len(w.fields) - 1; i >= 0; i-- {
		if f := &w.fields[i]; f.hides() {
			if !f.inResult && len(f.code) < maxFieldCode {
				f.code = append(f.code, s...)
			}
			for j := range w.fields[i+1:] {
				w.fields[i+1+j].filled = true
			}
			return
		}
	}
}

// fieldElement handles the start of an element of a field or a form field.
func (w *wordWriter) fieldElement(name string, a map[string]string) {
	switch name {
	case "fldChar":
		w.fieldChar(a["fldCharType"])
	case "fldSimple":
		w.pushField()
		w.fieldCode(a["instr"])
		w.separateField()
	case "ffData":
		w.form = formField{open: true, result: -1}
	}
	if !w.form.open {
		return
	}
	number, _ := strconv.Atoi(a["val"]) // 0 if it is invalid
	f := &w.form
	switch name {
	case "checkBox":
		f.box = true
	case "ddList":
		f.list = true
	case "default":
		f.standard = number
		if f.box && !f.given {
			f.checked = isOn(a)
		}
	case "checked":
		f.checked, f.given = isOn(a), true
	case "result":
		f.result = number
	case "listEntry":
		if len(f.entries) < maxListEntries {
			f.entries = append(f.entries, a["val"])
		}
	}
}

// maxListEntries bounds the choices of a drop-down list. Word allows 25.
const maxListEntries = 1000

// endFieldElement handles the end of an element of a field or a form field.
func (w *wordWriter) endFieldElement(name string) {
	switch name {
	case "fldSimple":
		w.endField()
	case "ffData":
		w.endForm()
	}
}

// endForm writes the value of a check box or drop-down list, whose field has no text.
func (w *wordWriter) endForm() {
	f := w.form
	w.form = formField{}
	n := len(w.fields)
	if n == 0 || !f.box && !f.list || w.fields[n-1].inResult {
		return
	}
	chosen := f.result
	if chosen < 0 {
		chosen = f.standard
	}
	value := checkMark(f.checked)
	if f.list {
		value = ""
		if chosen >= 0 && chosen < len(f.entries) {
			value = f.entries[chosen]
		}
	}
	w.fields[n-1].replaced = true
	if !w.run.vanish && !slices.ContainsFunc(w.fields[:n-1], wordField.hides) {
		w.put(value)
	}
}

// fieldChar handles the characters that begin, separate and end a field.
func (w *wordWriter) fieldChar(kind string) {
	switch kind {
	case "begin":
		w.pushField()
	case "separate":
		w.separateField()
	case "end":
		w.endField()
	}
}

// pushField begins a field.
func (w *wordWriter) pushField() {
	if len(w.fields) == maxFields {
		w.lost = true
		w.fields = w.fields[1:]
	}
	w.fields = append(w.fields, wordField{})
}

// separateField begins the result of the innermost field. The target of a link is written after its text.
func (w *wordWriter) separateField() {
	n := len(w.fields)
	if n == 0 || w.fields[n-1].inResult {
		return
	}
	f := &w.fields[n-1]
	f.inResult, f.start = true, w.block.line.Len()
	words := fieldWords(string(f.code))
	if len(words) > 1 && strings.EqualFold(words[0], "HYPERLINK") && !w.fieldHides() {
		f.link = true
		target := words[1]
		if strings.HasPrefix(target, `\`) {
			target = "" // of a place in the document
		} else if at := slices.Index(words, `\l`); at > 1 && at+1 < len(words) {
			target += "#" + words[at+1]
		}
		w.beginLink(target)
	}
}

// endField ends the innermost field. Some fields never have a result, and Word computes what it shows from the code.
func (w *wordWriter) endField() {
	n := len(w.fields)
	if n == 0 {
		return
	}
	f := &w.fields[n-1]
	empty := !f.filled && (!f.inResult || f.start >= w.block.line.Len())
	code := string(f.code)
	if f.link {
		w.endLink()
	}
	inResult, replaced := f.inResult, f.replaced
	w.fields = w.fields[:n-1]
	if !empty || replaced {
		return
	}
	text, known := fieldText(code, inResult)
	if w.invisible() {
		w.resultInCode(text)
		return
	}
	w.put(text)
	w.lost = w.lost || !known
}

// fieldWords splits the code of a field into words, without the quotes around them.
func fieldWords(code string) (words []string) {
	for code = strings.TrimSpace(code); code != ""; code = strings.TrimSpace(code) {
		end := strings.IndexAny(code, " \t\n")
		if code[0] == '"' {
			if end = strings.IndexByte(code[1:], '"'); end >= 0 {
				words, code = append(words, code[1:end+1]), code[end+2:]
				continue
			}
		}
		if end < 0 {
			end = len(code)
		}
		words, code = append(words, strings.Trim(code[:end], `"`)), code[end:]
	}
	return words
}

// fieldText returns what Word shows for a field without a result, and whether that is known. hasResult is true if the
// field has a result that is empty, as that of a form field that was not filled in.
func fieldText(code string, hasResult bool) (text string, known bool) {
	words := fieldWords(code)
	if len(words) == 0 {
		return "", true
	}
	switch strings.ToUpper(words[0]) {
	case "SYMBOL":
		return symbolField(words[1:])
	case "EQ":
		_, rest, _ := strings.Cut(strings.TrimSpace(code), " ")
		return equationField(rest)
	case "MACROBUTTON", "GOTOBUTTON":
		return strings.Join(words[min(2, len(words)):], " "), true
	case "QUOTE":
		return strings.Join(words[1:], " "), true
	case "XE", "TC", "TA", "RD", "SET", "ASK", "PRIVATE", "ADVANCE", "FORMTEXT":
		return "", true // it shows nothing, such as the entry of an index
	}
	return "", hasResult
}

// symbolField returns the character of a SYMBOL field, such as SYMBOL 183 \f "Symbol".
func symbolField(words []string) (string, bool) {
	if len(words) == 0 {
		return "", false
	}
	position, err := strconv.ParseInt(words[0], 0, 32)
	if err != nil || position < 0x20 {
		return "", false
	}
	for i, word := range words[1:] {
		if word == `\f` && i+2 < len(words) {
			if shown, known := symbol(words[i+2], rune(position)); known {
				return string(shown), true
			}
		}
	}
	if position >= 0x80 && position < 0xA0 && !slices.Contains(words, `\u`) {
		return decodeBytes("windows-1252", []byte{byte(position)}), true
	}
	return string(rune(position)), true
}

// equationField returns an EQ field in linear form: \f(1,2) is 1/2, \r(3,x) a root, \s\up(2) an exponent. It is how
// equations were written before Word 2007.
func equationField(code string) (string, bool) {
	e := equation{rest: strings.TrimSpace(code), known: true}
	text := e.sequence("", 0)
	return strings.TrimSpace(text), e.known
}

// equation parses an EQ field.
type equation struct {
	rest  string
	known bool
}

// sequence reads until one of the stop characters, which it leaves.
func (e *equation) sequence(stop string, depth int) string {
	var b strings.Builder
	for e.rest != "" && !strings.ContainsRune(stop, rune(e.rest[0])) {
		if e.rest[0] != '\\' || len(e.rest) == 1 {
			b.WriteByte(e.rest[0])
			e.rest = e.rest[1:]
			continue
		}
		e.rest = e.rest[1:]
		name := strings.ToLower(e.rest[:1])
		e.rest = e.rest[1:]
		if !strings.Contains("abdfilorsx", name) || depth > maxMathDepth {
			b.WriteString(name) // an escaped character, such as a comma
			continue
		}
		b.WriteString(e.switches(name, depth))
	}
	return b.String()
}

// switches reads the options and arguments of a switch and returns its text.
func (e *equation) switches(name string, depth int) string {
	options := ""
	for {
		e.rest = strings.TrimLeft(e.rest, " ")
		if !strings.HasPrefix(e.rest, `\`) {
			break
		}
		end := strings.IndexAny(e.rest[1:], ` \(`)
		if end < 0 {
			break
		}
		options += strings.ToLower(e.rest[1:end+1]) + " "
		e.rest = e.rest[end+1:]
	}
	if !strings.HasPrefix(e.rest, "(") {
		e.known = e.known && name == "d" // a displacement shows nothing
		return ""
	}
	var args []string
	for {
		e.rest = e.rest[1:]
		args = append(args, strings.TrimSpace(e.sequence(",;)", depth+1)))
		if e.rest == "" || e.rest[0] == ')' {
			break
		}
	}
	e.rest = strings.TrimPrefix(e.rest, ")")
	joined := strings.Join(args, "")
	switch {
	case name == "f" && len(args) == 2:
		return grouped(args[0]) + "/" + grouped(args[1])
	case name == "r" && len(args) == 2:
		s := mathStructure{name: "rad", parts: map[string][]string{"deg": args[:1], "e": args[1:]}}
		return s.root()
	case name == "r":
		return "√" + grouped(joined)
	case name == "s" && strings.Contains(options, "do"):
		return script("_", joined)
	case name == "s":
		return script("^", joined)
	case name == "b":
		return "(" + joined + ")"
	case name == "l" || name == "a":
		return strings.Join(args, ", ")
	case name == "i" && len(args) == 3:
		return "∫" + script("_", args[0]) + script("^", args[1]) + " " + args[2]
	}
	return joined
}
