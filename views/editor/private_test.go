package editor

import "testing"

func TestIsPrivateURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"http://127.0.0.1:8080/x": true, "http://[::1]/": true, "http://[::ffff:10.0.0.1]/": true, "https://192.168.1.5": true, "http://169.254.169.254/latest": true,
		"http://localhost:3000": true, "http://api.localhost": true, "http://nas.local/": true, "http://db.internal.": true,
		"https://example.com": false, "https://8.8.8.8": false, "https://localhost.example.com": false, "https://{{host}}/x": false, "": false, "%zz": false,
	} {
		if got := isPrivateURL(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
