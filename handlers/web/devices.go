package web

import "strings"

// deviceToken is a part of a User-Agent header and the name it stands for. The
// first match wins: browsers also name others for compatibility (Edge names
// Chrome and Safari), so the most specific token comes first.
type deviceToken struct{ token, name string }

var (
	// browserTokens are searched in this order. Most browsers also name Safari, and many name
	// Chrome, so these come after the others.
	browserTokens = []deviceToken{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	}
	systemTokens = []deviceToken{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
		{"Mac OS X", "macOS"}, {"Macintosh", "macOS"}, {"Linux", "Linux"},
	}
)

// DeviceName describes a User-Agent header for the list of sessions, as in "Firefox
// on Windows".
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

// firstToken returns the name of the first token of the list that a User-Agent contains, or "".
func firstToken(agent string, signs []deviceToken) string {
	for _, s := range signs {
		if strings.Contains(agent, s.token) {
			return s.name
		}
	}
	return ""
}
