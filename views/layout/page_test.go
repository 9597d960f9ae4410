package layout

import "testing"

func TestPage(t *testing.T) {
	t.Parallel()
	for who, want := range map[Person]string{
		{Name: "Ada Kowalski"}: "AK", {Name: "Élodie"}: "É", {Name: "李 小龙"}: "李小", {Email: "lin@example.com"}: "L",
	} {
		if got := who.Initials(); got != want {
			t.Errorf("%v: got %q, wanted %q", who, got, want)
		}
	}
	for cookie, want := range map[string]Theme{"dark": ThemeDark, "light": ThemeLight, "": ThemeSystem, `"><script>`: ThemeSystem} {
		if got := ParseTheme(cookie); got != want {
			t.Errorf("%q: got %q, wanted %q", cookie, got, want)
		}
	}
}
