package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"time"
)

// setting is the effective value of a field of Config. Its JSON form is meant for support
// requests.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // default, environment or flag
}

// settings returns all settings with secrets redacted, from the struct tags of Config. A
// value that differs from the default and is not in the environment comes from a flag.
func (c *Config) settings() []setting {
	var list []setting
	v := reflect.ValueOf(*c)
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		s := setting{Name: tag.Get("env"), Value: displayValue(tag.Get("env"), v.Field(i).Interface()), Source: "default"}
		switch given, set := os.LookupEnv(s.Name); {
		case set && given != "":
			s.Source = "environment"
		case s.Value != "" && !isDefault(tag.Get("default"), v.Field(i).Interface()):
			s.Source = "flag"
		}
		if _, hidden := tag.Lookup("hidden"); !hidden || s.Source != "default" {
			list = append(list, s)
		}
	}
	return list
}

// isDefault reports whether a value equals the default in the tag of its field.
func isDefault(text string, value any) bool {
	switch v := value.(type) {
	case days:
		var d days
		return d.UnmarshalText([]byte(text)) == nil && d == v
	case size:
		var n size
		return n.UnmarshalText([]byte(text)) == nil && n == v
	}
	given := fmt.Sprint(value)
	absolute, err := filepath.Abs(text) // parsing makes paths absolute
	return given == text || err == nil && given == absolute
}

// displayValue returns the value of a setting with secrets redacted.
func displayValue(name string, value any) string {
	switch v := value.(type) {
	case days:
		if v == 0 {
			return ""
		}
		if d := time.Duration(v); d%(24*time.Hour) == 0 {
			return fmt.Sprintf("%dd", d/(24*time.Hour))
		}
		return time.Duration(v).String()
	case workers:
		if v == 0 {
			return ""
		}
	case size:
		if v == 0 {
			return ""
		}
		return fmt.Sprintf("%d bytes", int64(v))
	}
	text := fmt.Sprint(value)
	switch {
	case text == "":
		return ""
	case name == "SLUICE_MASTER_KEY", name == "SLUICE_KEY", name == "SLUICE_FILES_SECRET":
		return "(set, not shown)"
	case name == "DATABASE_URL", name == "SLUICE_READ_DATABASE_URL", name == "SLUICE_SMTP_URL":
		return withoutPassword(text)
	}
	return text
}

// withoutPassword returns the URL of a database or mail server without its password, for terminals and bug
// reports.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(set, not a URL)"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…" // it may hold a password too
	}
	return u.Redacted()
}
