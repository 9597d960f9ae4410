package command

import (
	"encoding"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set parses a value; it implements pflag.Value. The values of a slice replace its default;
// --scope= makes it empty.
func (f *Flag) Set(text string) error {
	f.set = true
	if !f.Repeated() {
		return f.read(f.target, text)
	}
	texts := []string{text}
	if f.splitCommas {
		texts = list(text)
	}
	for _, text := range texts {
		item := reflect.New(f.target.Type().Elem()).Elem()
		if err := f.read(item, text); err != nil {
			return err
		}
		f.target.Set(reflect.Append(f.target, item))
	}
	return nil
}

// String implements pflag.Value. It returns "" because defaults are set after parsing.
func (f *Flag) String() string { return "" }

// Type implements pflag.Value.
func (f *Flag) Type() string { return f.target.Kind().String() }

// supported returns an error if read cannot read the type of the target.
func (f *Flag) supported() error {
	switch f.valueType().Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return nil
	}
	return fmt.Errorf("command: field for %s has unsupported type %s", f.label(), f.target.Type())
}

// valueType returns the type of a single value.
func (f *Flag) valueType() reflect.Type {
	t := f.target.Type()
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// read sets a single value.
func (f *Flag) read(target reflect.Value, text string) error {
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	switch to := target.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return to.UnmarshalText([]byte(text))
	case *time.Duration:
		return parse(to, text, "a duration such as 30s or 24h", time.ParseDuration)
	case *bool:
		return parse(to, text, "true or false", strconv.ParseBool)
	case *float64:
		return parse(to, text, "a number", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	}
	if target.Kind() == reflect.String {
		path, err := f.path(text)
		target.SetString(path)
		return err
	}
	var n int64
	err := parse(&n, text, "a whole number", func(s string) (int64, error) { return strconv.ParseInt(s, 0, target.Type().Bits()) })
	target.SetInt(n)
	return err
}

// parse converts a text and stores the result; wanted describes valid texts for the error.
func parse[T any](to *T, text, wanted string, with func(string) (T, error)) error {
	v, err := with(text)
	if err != nil {
		return fmt.Errorf("wanted %s, got %q", wanted, text)
	}
	*to = v
	return nil
}

// path makes a text absolute if the flag is tagged as a path. It keeps "-", which stands for
// standard input or output, and "".
func (f *Flag) path(text string) (string, error) {
	if f.kind == "" || text == "-" || text == "" {
		return text, nil
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(text, "~/") {
		text = filepath.Join(home, text[2:])
	}
	path, err := filepath.Abs(text)
	if err != nil || f.kind != "existingfile" {
		return path, err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%q is a directory", path)
	}
	return path, err
}

// checkEnum returns an error for a value that the tag enum does not list. It runs after
// defaults were applied, so a wrong default is found too.
func (f *Flag) checkEnum() error {
	if f.enum == nil || !f.set || slices.Contains(f.enum, f.target.String()) {
		return nil
	}
	quoted := make([]string, len(f.enum))
	for i, v := range f.enum {
		quoted[i] = strconv.Quote(v)
	}
	return fmt.Errorf("%s must be one of %s but got %q", f.label(), strings.Join(quoted, ","), f.target.String())
}
