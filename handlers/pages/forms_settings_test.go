package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
)

func TestFormSettings(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(ticketRouting)
	path := "/flows/" + id + "/form"
	b := h.as(flow.MemberEditor)
	base := func() url.Values { return url.Values{"per_minute": {"5"}, "per_day": {"50"}, "max_file": {"2"}} }
	b.get(path).is(http.StatusOK).has("Anyone with the address can use the form", `placeholder="Route a support ticket"`, `value="10"`, `value="500"`, `value="25"`)

	v := base()
	v.Set("on", "on")
	b.post(path, v).is(http.StatusSeeOther).see(path)
	b.get(path).has("The flow is not published.", h.http.URL+"/f/"+id)
	h.publish(id)
	v.Set("title", "Ask us <b>")
	v.Set("intro", "We answer\r\nat once.")
	v.Set("button", "Send")
	v.Set("password", "open sesame now")
	v.Set("origins", "https://www.Example.com/\n\nhttps://*.partner.example")
	v.Set("unlisted", "on")
	b.post(path, v).is(http.StatusSeeOther)
	b.get(path).has("One is set.", "&lt;iframe src=&#34;"+h.http.URL+"/f/"+id, "https://www.example.com\nhttps://*.partner.example", "With a password, embedding needs https.", "Open the form").lacks("open sesame", "argon2id")
	f, err := h.store.FindForm(t.Context(), id)
	if err != nil || f.PerMinute != 5 || f.PerDay != 50 || f.MaxFile != 2<<20 || f.Intro != "We answer\nat once." || !strings.HasPrefix(f.PasswordHash, "$argon2id$") {
		t.Fatalf("kept %+v, %v", f, err)
	}
	c := h.stranger()
	c.post("/f/"+id+"/password", url.Values{"password": {"open sesame now"}}).is(http.StatusSeeOther)
	c.get("/f/"+id).is(http.StatusOK).has("<h1>Ask us &lt;b&gt;</h1>", "We answer", ">Send<", "noindex")

	v.Del("password")
	b.post(path, v).is(http.StatusSeeOther)
	if again, _ := h.store.FindForm(t.Context(), id); again.PasswordHash != f.PasswordHash {
		t.Error("saving without a password changed it")
	}
	v.Set("no_password", "on")
	v.Del("on")
	b.post(path, v).is(http.StatusSeeOther)
	if f, _ = h.store.FindForm(t.Context(), id); f.PasswordHash != "" || f.On {
		t.Errorf("kept %+v", f)
	}
	h.as(flow.MemberOwner).get("/settings/audit").is(http.StatusOK).has("opened the form of", "closed the form of", "changed the form of", "title, introduction, button, password, embedding, search engines").lacks("open sesame")

	t.Run("refuses", func(t *testing.T) {
		for name, value := range map[string]string{
			"title": strings.Repeat("x", 121), "intro": strings.Repeat("x", 2001), "button": strings.Repeat("x", 41), "password": "short",
			"per_minute": "0", "per_day": "many", "max_file": "-1",
			"origins": "https://a.example; script-src *",
		} {
			v := base()
			v.Set("on", "on")
			v.Set(name, value)
			a := b.post(path, v).is(http.StatusUnprocessableEntity).has("Nothing was saved: 1 field to mend.", `aria-invalid="true"`)
			if name != "password" {
				a.has(strings.ReplaceAll(value, "\r\n", "\n"))
			}
		}
		if f, _ := h.store.FindForm(t.Context(), id); f.On {
			t.Error("a refused form was saved")
		}
	})
	t.Run("viewers see and cannot change", func(t *testing.T) {
		w := h.as(flow.MemberViewer)
		w.get(path).is(http.StatusOK).has("Editors and owners can change this.", "disabled").lacks(">Save<")
		w.post(path, base()).is(http.StatusForbidden)
	})
	t.Run("other workspaces find nothing", func(t *testing.T) {
		o := h.fresh("owner of another workspace")
		if a := o.get(path).is(http.StatusNotFound); a.body != o.get("/flows/flow_01jd3v8m2kq4r5t6w7x8y9z0ab/form").body {
			t.Error("it differs from what is nowhere")
		}
		o.post(path, base()).is(http.StatusNotFound)
	})
	t.Run("is in the builder's menu", func(t *testing.T) {
		b.get("/flows/" + id).has(`href="/flows/` + id + `/form"`)
	})
}

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
