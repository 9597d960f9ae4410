package documents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"sluice/flow/value"
)

// jsonLines reads a JSON object from each line that is not blank.
func jsonLines(text io.Reader) func() (int, []string, *value.Object, error) {
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, tablePeek), MaxTableRow+2)
	number := 0
	return func() (int, []string, *value.Object, error) {
		for lines.Scan() {
			number++
			line := bytes.TrimSpace(lines.Bytes())
			if len(line) == 0 {
				continue
			}
			v, err := value.Decode(line)
			if err != nil {
				return 0, nil, nil, refuse("Line %d is not valid JSON: %v.", number, err)
			}
			o, ok := v.(*value.Object)
			if !ok {
				return 0, nil, nil, refuse("Line %d is not a JSON object.", number)
			}
			return number, nil, o, nil
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return 0, nil, nil, refuse("Line %d is larger than 1 MiB.", number+1)
		}
		if lines.Err() != nil {
			return 0, nil, nil, lines.Err()
		}
		return 0, nil, nil, io.EOF
	}
}

// jsonList reads the objects of a JSON list one by one.
func jsonList(text io.Reader) func() (int, []string, *value.Object, error) {
	limited := &io.LimitedReader{R: text, N: MaxTableRow}
	d := json.NewDecoder(limited)
	number := 0
	wrong := func(err error) error {
		if limited.N <= 0 {
			return refuse("Row %d is larger than 1 MiB.", number)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return refuse("Row %d is not valid JSON: the JSON ends too early.", number)
		}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return refuse("Row %d is not valid JSON: %v.", number, syntax)
		}
		return err
	}
	return func() (int, []string, *value.Object, error) {
		if number == 0 {
			_, _ = d.Token() // the bracket, which was seen
		}
		number++
		limited.N = MaxTableRow
		if !d.More() {
			_, err := d.Token()
			if err == nil {
				if _, err = d.Token(); errors.Is(err, io.EOF) {
					return 0, nil, nil, io.EOF
				}
				err = refuse("Something follows the list.")
			}
			return 0, nil, nil, wrong(err)
		}
		var row json.RawMessage
		if err := d.Decode(&row); err != nil {
			return 0, nil, nil, wrong(err)
		}
		if len(row) > MaxTableRow {
			return 0, nil, nil, refuse("Row %d is larger than 1 MiB.", number)
		}
		v, err := value.Decode(row)
		if err != nil {
			return 0, nil, nil, refuse("Row %d is not valid JSON: %v.", number, err)
		}
		o, ok := v.(*value.Object)
		if !ok {
			return 0, nil, nil, refuse("Row %d is not a JSON object.", number)
		}
		return number, nil, o, nil
	}
}
