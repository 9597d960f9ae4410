package e2e

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// newUser is a signed-in session of a user who signed up.
type newUser struct {
	*server
	http *http.Client
}

func (s *server) signUp(email string) *newUser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	v := &newUser{s, &http.Client{Transport: plain.Transport, Jar: jar, CheckRedirect: plain.CheckRedirect}}
	if status, page := v.post("/sign-up", url.Values{"name": {"Kim"}, "email": {email}, "password": {passphrase}, "workspace": {"Guests"}}); status != http.StatusSeeOther {
		s.t.Fatalf("signing up gives %d:\n%s", status, page)
	}
	return v
}

func (v *newUser) post(path string, form url.Values) (status int, page string) {
	v.t.Helper()
	resp, err := v.http.PostForm(v.base()+path, form)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, string(text) + resp.Header.Get("Location")
}

var keyText = regexp.MustCompile(`slu_[A-Za-z0-9_-]{20,}`)

// newKey creates a key on the dashboard.
func (v *newUser) newKey() string {
	v.t.Helper()
	status, page := v.post("/keys", url.Values{"name": {"mine"}, "scope": {"run", "read", "manage"}, "reach": {"all"}, "expires": {"never"}})
	text := keyText.FindString(page)
	if text == "" {
		v.t.Fatalf("creating a key gives %d:\n%s", status, page)
	}
	return text
}

// send uploads a file and returns the response.
func (c *client) send(name string, data []byte) *response {
	c.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err != nil || form.Close() != nil {
		c.t.Fatalf("write a form: %v", err)
	}
	return c.do("POST", "/v1/files", b.Bytes(), "Content-Type: "+form.FormDataContentType())
}

// TestSignup_quotas_bound_storage opens sign-up to everyone and lets a new user store files
// until the quota is reached.
func TestSignup_quotas_bound_storage(t *testing.T) {
	t.Parallel()
	s := newServer(t, "SLUICE_SIGNUP=open", "SLUICE_QUOTA_BYTES=1MiB", "SLUICE_QUOTA_FLOWS=4", "SLUICE_QUOTA_RUNS=5")
	if r := s.commandWith(passphrase+"\n", "user", "add", "--email", ownerEmail, "--password-stdin"); r.code != 0 {
		t.Fatal(r.errs)
	}
	v := s.signUp("kim@example.com")
	c := s.client(v.newKey())

	const size = 100_000
	var kept []string
	var refused *response
	for i := range 12 {
		a := c.send("a.bin", bytes.Repeat([]byte{byte(i)}, size))
		if a.status == http.StatusCreated {
			id, _ := a.object(t)["file"].(string)
			kept = append(kept, id)
			continue
		}
		refused = a
		break
	}
	if refused == nil || refused.status != http.StatusPaymentRequired || len(kept) < 8 || len(kept) > 10 {
		t.Fatalf("%d files of %d bytes are stored, then %+v", len(kept), size, refused)
	}
	problem := refused.object(t)
	if quota, _ := problem["quota"].(object); problem["code"] != "quota_exceeded" || quota["unit"] != "bytes" || quota["limit"] != 1048576.0 || !strings.Contains(problem["detail"].(string), "of at most 1 MiB") {
		t.Errorf("the refusal: %v", problem)
	}
	c.want(204, "DELETE", "/v1/files/"+kept[0], nil)
	if a := c.send("a.bin", make([]byte, size)); a.status != http.StatusCreated {
		t.Errorf("after deleting a file: %d %s", a.status, a.body)
	}

	flows, _ := c.want(200, "GET", "/v1/flow", nil).object(t)["flows"].([]any)
	if len(flows) != 3 {
		t.Fatalf("a new workspace has %d flows, want the 3 samples", len(flows))
	}
	if status, page := v.post("/flows", nil); status != http.StatusSeeOther {
		t.Errorf("the fourth flow gives %d:\n%s", status, page)
	}
	if status, page := v.post("/flows", nil); status != http.StatusPaymentRequired || !strings.Contains(page, "has 4 of at most 4 flows") {
		t.Errorf("the fifth flow gives %d:\n%s", status, page)
	}

	summarize := ""
	for _, f := range flows {
		if f := f.(object); strings.Contains(strings.ToLower(f["name"].(string)), "summarize") {
			summarize = f["flow_id"].(string)
		}
	}
	given := object{"text": "Sluice runs flows. A flow is an API. An API has callers."}
	var last *run
	for range 5 {
		last = c.await(c.start(summarize, given))
	}
	c.rejected(402, "quota_exceeded", "POST", "/v1/flow/"+summarize+"/run", given)
	c.rejected(402, "quota_exceeded", "POST", last.path()+"/rerun", object{})
	if shown := s.must("workspace", "limits", "list"); !strings.Contains(shown, "5 of 5") || !strings.Contains(shown, "4 of 4") || !strings.Contains(shown, "Guests") {
		t.Errorf("workspace limits list:\n%s", shown)
	}
	c.want(204, "DELETE", last.path(), nil)
	c.await(c.start(summarize, given))

	// The workspace of the operator is not limited.
	own := s.publish(documentOf("Echo", []object{input("q"), output("text")}, "q.value > out_text.value"))
	mine := s.client(s.key())
	for range 7 {
		mine.await(mine.start(own, object{"q": "x"}))
	}
}
