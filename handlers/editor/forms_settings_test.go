package editor

import (
	"strings"
	"testing"
)

func TestReadOrigins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://a.example": "https://a.example", "http://localhost:3000": "http://localhost:3000", "https://*.a.example/": "https://*.a.example", " HTTPS://A.example ": "https://a.example",
		"https://a.example\nhttps://a.example": "https://a.example",
		"*":                                    "!", "https://*": "!", "https://*.com": "!", "a.example": "!", "https://a.example/path": "!", "https://a.example 'self'": "!", "javascript:alert(1)": "!", "https://a.example;x": "!",
		"https://user@a.example": "!", "null": "!", "'none'": "!", "data:": "!", "https://a.example:99999999": "!",
	} {
		list, bad := readOrigins(text)
		got := strings.Join(list, " ")
		if bad != "" {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%s)", text, got, want, bad)
		}
	}
}
