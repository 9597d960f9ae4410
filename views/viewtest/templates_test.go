package viewtest

import "testing"

func TestForbidden_catches(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`<a data-hx-on:click="x()">`, `<a href="javascript:x()">`, `<p style="color: red">`, "<style>", "<script>x()</script>",
		`<a onclick="x()">`, `<a data-hx-trigger="click[ctrlKey]">`, ` <a hx-get="/x">`, `templ.Raw(x)`, "script go() {", `<a aria-current?={ x }>`, `<a data-hx-vals="js:{a: 1}">`,
	} {
		caught := false
		for _, pattern := range forbidden {
			caught = caught || pattern.MatchString(text)
		}
		if !caught {
			t.Errorf("%s passes", text)
		}
	}
}
