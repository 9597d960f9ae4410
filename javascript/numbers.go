package javascript

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/flow/value"
)

// numbers carries the numbers of the inputs that a double cannot hold through a program, because
// numbers of JavaScript are doubles and would be rounded silently. A whole number becomes a BigInt,
// and a BigInt that is returned becomes a number. A number with a fraction is rounded for the
// program, and gets its digits back where the program returns it unchanged.
//
// Between Go and the machine, a BigInt is a text that begins with mark.
type numbers struct {
	mark      string
	fractions map[float64]string // digits by rounded value
	// written are the digits of fractions that a double holds, such as 19.990, which JavaScript writes as
	// 19.99. It is "" if the inputs write the number in several ways.
	written map[float64]string
}

// encodeInputs returns the inputs, a JSON object, with the whole numbers that need it marked.
func encodeInputs(inputs []byte) (n *numbers, encoded []byte, err error) {
	sum := sha256.Sum256(inputs)
	n = &numbers{mark: "bigint:" + hex.EncodeToString(sum[:8]) + ":", fractions: map[float64]string{}, written: map[float64]string{}}
	encoded, err = rewrite(inputs, func(t jsontext.Token, _ bool) (string, error) {
		if t.Kind() != '0' {
			return "", nil
		}
		return n.encode(t.String())
	})
	if err == nil {
		err = n.check(inputs)
	}
	return n, encoded, err
}

// encode returns the replacement of a number, or "" if a double holds it.
func (n *numbers) encode(text string) (string, error) {
	f, err := strconv.ParseFloat(text, 64)
	order, _ := value.CompareNumbers(json.Number(text), f)
	switch known, seen := n.fractions[f]; {
	case err == nil && order == 0:
		n.remember(f, text)
		return "", nil
	case strings.Trim(text, "-0123456789") == "":
		return strconv.Quote(n.mark + text), nil
	case err != nil || f == 0 || math.Trunc(f) == f:
		return "", &Error{Message: fmt.Sprintf("The number %.40s in the inputs does not fit JavaScript's numbers; pass it as text.", text)}
	case seen && known != text:
		return "", sameNumber(known, text)
	}
	n.fractions[f] = text
	return "", nil
}

// remember keeps how the inputs write a fraction.
func (n *numbers) remember(f float64, text string) {
	if math.Trunc(f) == f {
		return
	}
	if known, seen := n.written[f]; seen && known != text {
		text = ""
	}
	n.written[f] = text
}

// check returns an error if a number that a double holds has the same double as a rounded one.
func (n *numbers) check(inputs []byte) error {
	if len(n.fractions) == 0 {
		return nil
	}
	_, err := rewrite(inputs, func(t jsontext.Token, _ bool) (string, error) {
		if t.Kind() != '0' {
			return "", nil
		}
		f, _ := strconv.ParseFloat(t.String(), 64)
		if rounded, ok := n.fractions[f]; ok && rounded != t.String() {
			return "", sameNumber(t.String(), rounded)
		}
		return "", nil
	})
	return err
}

func sameNumber(a, b string) error {
	return &Error{Message: fmt.Sprintf("The numbers %.40s and %.40s in the inputs are the same in JavaScript; pass them as texts.", a, b)}
}

// decode returns a result, which is JSON, with the exact numbers.
func (n *numbers) decode(result string) (string, error) {
	if len(n.fractions) == 0 && len(n.written) == 0 && !strings.Contains(result, n.mark) {
		return result, nil
	}
	decoded, err := rewrite([]byte(result), func(t jsontext.Token, isName bool) (string, error) {
		switch t.Kind() {
		case '"':
			if digits, marked := strings.CutPrefix(t.String(), n.mark); marked && !isName && value.IsNumber(digits) {
				return digits, nil
			}
		case '0':
			f, _ := strconv.ParseFloat(t.String(), 64)
			return cmp.Or(n.fractions[f], n.written[f]), nil
		}
		return "", nil
	})
	return string(decoded), err
}

// rewrite replaces tokens of a JSON text. replace returns "" to keep a token; isName says that it is
// the name of a member. Texts without replacements are not copied.
func rewrite(text []byte, replace func(t jsontext.Token, isName bool) (string, error)) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out []byte
	copied := 0
	for {
		t, err := d.ReadToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		kind, count := d.StackIndex(d.StackDepth())
		isName := kind == '{' && count%2 == 1 && t.Kind() == '"'
		t = t.Clone()
		with, err := replace(t, isName)
		if err != nil {
			return nil, err
		}
		if with == "" {
			continue
		}
		end := int(d.InputOffset())
		start := end - tokenLength(text[:end], t)
		out = append(append(out, text[copied:start]...), with...)
		copied = end
	}
	if copied == 0 {
		return text, nil
	}
	return append(out, text[copied:]...), nil
}

// tokenLength returns the length of the number or text at the end of before, as it is written.
func tokenLength(before []byte, t jsontext.Token) int {
	if t.Kind() == '0' {
		return len(t.String())
	}
	for start := len(before) - 2; start >= 0; start-- {
		if before[start] != '"' {
			continue
		}
		slashes := 0
		for start-1-slashes >= 0 && before[start-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return len(before) - start
		}
	}
	return len(before)
}
