package web

import "strings"

// deviceSigns are looked for in order: browsers name others' for the sake of
// old pages, so that the most particular comes first.
type deviceToken struct{ token, name string }

var (
	browserTokens = []deviceToken{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	}
	systemTokens = []deviceToken{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
		{"Mac OS X", "macOS"}, {"Macintosh", "macOS"}, {"Linux", "Linux"},
	}
)

// DeviceName says in plain words what a browser calls itself.
func DeviceName(agent string) string {
	browser, system := firstToken(agent, browserTokens), firstToken(agent, systemTokens)
	switch {
	case browser == "" && system == "":
		return "Unknown browser"
	case browser == "":
		return "A browser on " + system
	case system == "":
		return browser
	}
	return browser + " on " + system
}

func firstToken(agent string, signs []deviceToken) string {
	for _, s := range signs {
		if strings.Contains(agent, s.token) {
			return s.name
		}
	}
	return ""
}
