package passwords

import (
	"crypto/rand"
	"strings"
	"testing"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	const email = "Ada.Kowalski@example.com"
	for _, refused := range []struct{ password, says string }{
		{"short", "10 to 512"}, {strings.Repeat("ab", 300), "10 to 512"},
		{"password123", "common"}, {"Password123!", "common"}, {"P@ssw0rd2024", "common"}, {"basketball", "common"}, {"leavemealone", "common"},
		{"sunshine!!", "common"}, {"123monkey123", "common"}, {"LETMEIN12345", "common"}, {"dragon123456", "common"}, {"iloveyou2024", "common"},
		{"!!!welcome1", "common"}, {"1qaz2wsx3edc", "common"}, {"qwertyuiop", "common"}, {"1234567890", "common"}, {"q1w2e3r4t5", "common"},
		{"aaaaaaaaaaaa", "pattern"}, {"ababababab", "pattern"}, {"abc123abc123", "pattern"}, {"poiuytrewqasdf", "pattern"}, {"zxcvbnmasdfg", "pattern"},
		{"98765432109876", "pattern"}, {"abcdefghijkl", "pattern"}, {"xyz1xyz1xyz1", "pattern"}, {"0123456789ab", "pattern"}, {"4rfv5tgb6yhn", "pattern"},
		{"2718281828459", "digits"}, {"31.12.1987", "digits"}, {"0049 170 2931", "digits"},
		{"ada.kowalski@example.com", "email"}, {"Ada.Kowalski", "email"}, {"ada.kowalski-1987", "email"}, {"sluice-sluice", "Sluice"},
		{"mySluice2026", "Sluice"}, {"Slu1ce-2026!", "Sluice"}, {"sluicepassword", "Sluice"}, {"sluice123456789", "Sluice"},
	} {
		if got := Check(refused.password, email); !strings.Contains(got, refused.says) {
			t.Errorf("%q: %q, want %q", refused.password, got, refused.says)
		}
	}
	for _, taken := range []string{
		password, "Tr0ub4dor&3", "seven purple otters dance", "my sluice opens at noon", "kowalski paints green walls", "xK7#pq2Lm9vT",
		"8264519374028165", "пароль сложный и длинный", "gültige Wörter hier", "olive-tram-kettle-nine",
	} {
		if got := Check(taken, email); got != "" {
			t.Errorf("%q: %s", taken, got)
		}
	}
	for range 2000 {
		if text := rand.Text()[:12]; Check(text, email) != "" {
			t.Fatalf("%q: %s", text, Check(text, email))
		}
	}
}
