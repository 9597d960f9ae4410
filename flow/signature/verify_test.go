package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sample is a request with a valid signature.
type sample struct {
	name   string
	config Config
	url    string
	header map[string]string
	body   string
	secret string
	at     int64
}

const slackBody = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
	"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
	"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"

const twilioForm = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"

const twilioJSON = `{"property": "value", "boolean": true}`

// at is when the samples that are signed here are sent.
const at = 1_790_000_000

// samples has one request or more of each scheme that checks signatures. Those of Standard Webhooks, GitHub, Slack and Twilio (except with SHA-256) are
// published by the sender, in its documentation or the tests of its libraries, and those of hmac in RFC 4231. The others publish only the rule: they are
// signed here.
func samples() []sample {
	rfcKey, rfcData := strings.Repeat("\x0b", 20), "Hi There" // RFC 4231, test case 1
	list := []sample{
		{"standard", Config{Scheme: "standard"}, "", map[string]string{"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
			"Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}, `{"test": 2432232314}`, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330},
		{"github", Config{Scheme: "github"}, "", map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
			"Hello, World!", "It's a Secret to Everybody", at},
		{"slack", Config{Scheme: "slack"}, "", map[string]string{"X-Slack-Request-Timestamp": "1531420618",
			"X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"}, slackBody, "8f742231b10e8888abcd99yyyzzz85a5", 1531420618},
		{"twilio_form", Config{Scheme: "twilio"}, "https://mycompany.com/myapp.php?foo=1&bar=2", map[string]string{"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
			twilioForm, "12345", at},
		{"twilio_form_port", Config{Scheme: "twilio"}, "https://mycompany.com/myapp.php?foo=1&bar=2", map[string]string{"X-Twilio-Signature": "kvajT1Ptam85bY51eRf/AJRuM3w="},
			twilioForm, "12345", at},
		{"twilio_json", Config{Scheme: "twilio"}, "https://mycompany.com/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
			map[string]string{"X-Twilio-Signature": "a9nBmqA0ju/hNViExpshrM61xv4="}, twilioJSON, "12345", at},
		{"hmac_sha256", Config{Scheme: "hmac", Header: "X-Sign"}, "", map[string]string{"X-Sign": "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"}, rfcData, rfcKey, at},
		{"hmac_sha512", Config{Scheme: "hmac", Header: "X-Sign", Algorithm: "sha512"}, "", map[string]string{
			"X-Sign": "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"}, rfcData, rfcKey, at},
	}
	add := func(config Config, header map[string]string, body, secret string) {
		list = append(list, sample{config.Scheme, config, "", header, body, secret, at})
	}
	stamp := fmt.Sprint(at)
	event := `{"id":"evt_1","type":"refund.created"}`
	linear := fmt.Sprintf(`{"action":"create","webhookTimestamp":%d000}`, at)
	add(Config{Scheme: "stripe"}, map[string]string{"Stripe-Signature": "t=" + stamp + ",v1=" + mac("whsec_test", stamp+"."+event) + ",v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"}, event, "whsec_test")
	add(Config{Scheme: "shopify"}, map[string]string{"X-Shopify-Hmac-Sha256": inBase64(mac("hush", event))}, event, "hush")
	add(Config{Scheme: "meta"}, map[string]string{"X-Hub-Signature-256": "sha256=" + mac("hush", event)}, event, "hush")
	add(Config{Scheme: "zoom"}, map[string]string{"X-Zm-Signature": "v0=" + mac("hush", "v0:"+stamp+":"+event), "X-Zm-Request-Timestamp": stamp}, event, "hush")
	add(Config{Scheme: "linear"}, map[string]string{"Linear-Signature": mac("hush", linear)}, linear, "hush")
	add(Config{Scheme: "hmac", Header: "X-Sign", Signed: "{timestamp}.{body}", TimestampHeader: "X-Time", Encoding: "base64", Prefix: "sha256="},
		map[string]string{"X-Sign": "sha256=" + inBase64(mac("hush", stamp+"."+event)), "X-Time": stamp}, event, "hush")
	list = append(list, sample{"twilio_sha256", Config{Scheme: "twilio"}, "https://example.com/h/x", map[string]string{"X-Twilio-Signature": inBase64(mac("shared", "https://example.com/h/x"+"AB"+"C1C2")),
		"X-Twilio-Webhooks-Signature-Settings": "key=WK1,algorithm=HMAC_SHA256"}, "C=2&C=1&C=2&A=B", "shared", at})
	seed, _ := hex.DecodeString("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb") // RFC 8032, test 2
	interaction := `{"type":2,"id":"1"}`
	add(Config{Scheme: "discord"}, map[string]string{"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": hex.EncodeToString(ed25519.Sign(ed25519.NewKeyFromSeed(seed), []byte(stamp+interaction)))},
		interaction, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
	return list
}

func mac(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

func inBase64(text string) string {
	b, _ := hex.DecodeString(text)
	return base64.StdEncoding.EncodeToString(b)
}

func (s *sample) request() *Request {
	r := &Request{Method: http.MethodPost, URL: s.url, Header: http.Header{}, Body: []byte(s.body)}
	for name, v := range s.header {
		r.Header.Set(name, v)
	}
	return r
}

// refused fails the test unless the error is a Refusal that names what is wrong and no secret.
func refused(t *testing.T, err error, secret, word string) *Refusal {
	t.Helper()
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	if !strings.Contains(r.Reason, word) || secret != "" && strings.Contains(r.Reason, secret) {
		t.Errorf("reason %q, want %q in it and no secret", r.Reason, word)
	}
	return r
}

func TestVerify_signed_requests(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if problems := s.config.Check(); len(problems) > 0 {
				t.Fatal(problems)
			}
			now := time.Unix(s.at, 0)
			mine, other := Secret{"mine", s.secret}, Secret{"other", "whsec_AAAA"}
			verify := func(r *Request, at time.Time, secrets ...Secret) error { return s.config.Verify(r, secrets, at) }
			for _, secrets := range [][]Secret{{mine}, {other, mine}, {mine, other}} {
				if err := verify(s.request(), now, secrets...); err != nil {
					t.Fatalf("with %v: %v", secrets, err)
				}
			}
			t.Run("refuses_a_changed_byte", func(t *testing.T) {
				t.Parallel()
				for i := range s.body {
					r := s.request()
					r.Body[i] ^= 1
					refused(t, verify(r, now, mine), s.secret, "")
				}
				for name, v := range s.header {
					if name == twilioSettings {
						continue
					}
					r := s.request()
					r.Header.Set(name, v[:len(v)-2]+strings.Map(func(c rune) rune {
						if c == '1' {
							return '2'
						}
						return '1'
					}, v[len(v)-2:]))
					if strings.Contains(v, ",v0=") { // the last item is not read
						r.Header.Set(name, strings.Replace(v, ",v1=", ",v1=00", 1))
					}
					refused(t, verify(r, now, mine), s.secret, "")
				}
			})
			t.Run("refuses_when_the_secret_was_removed", func(t *testing.T) {
				t.Parallel()
				refused(t, verify(s.request(), now, other), s.secret, "doesn't match")
				refused(t, verify(s.request(), now, other, Secret{"empty", ""}), s.secret, "doesn't match")
				refused(t, verify(s.request(), now), s.secret, "No secret")
			})
			t.Run("refuses_a_missing_header", func(t *testing.T) {
				t.Parallel()
				for name := range s.header {
					if name == twilioSettings {
						continue
					}
					r := s.request()
					r.Header.Del(name)
					refused(t, verify(r, now, mine), s.secret, name)
				}
			})
			if s.config.scheme().timestamp == "" {
				return
			}
			t.Run("refuses_an_old_time", func(t *testing.T) {
				t.Parallel()
				for seconds, want := range map[int]bool{-301: false, -300: true, 300: true, 301: false} {
					err := verify(s.request(), now.Add(time.Duration(seconds)*time.Second), mine)
					if (err == nil) != want {
						t.Errorf("%d s later: %v", seconds, err)
					}
					if err != nil && !refused(t, err, s.secret, "300 s").Old {
						t.Errorf("%v is not about the time", err)
					}
				}
			})
		})
	}
}

func TestVerify_standard_accepts_several_signatures(t *testing.T) {
	t.Parallel()
	s := samples()[0]
	r := s.request()
	r.Header.Set("Webhook-Signature", "v1,AAAA v1a,BBBB "+s.header["Webhook-Signature"])
	if err := s.config.Verify(r, []Secret{{"a", s.secret}}, time.Unix(s.at, 0)); err != nil {
		t.Error(err)
	}
	r.Header.Set("Webhook-Signature", strings.Repeat("v1,AAAA ", maxSignatures)+s.header["Webhook-Signature"])
	refused(t, s.config.Verify(r, []Secret{{"a", s.secret}}, time.Unix(s.at, 0)), s.secret, "doesn't match")
}

func TestVerify_shared_tokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config        Config
		header, value string
		secret        string
	}{
		"gitlab":   {Config{Scheme: "gitlab"}, "X-Gitlab-Token", "s3cret", "s3cret"},
		"telegram": {Config{Scheme: "telegram"}, "X-Telegram-Bot-Api-Secret-Token", "s3cret", "s3cret"},
		"bearer":   {Config{Scheme: "token"}, "Authorization", "bearer s3cret", "s3cret"},
		"header":   {Config{Scheme: "token", Header: "X-Key"}, "X-Key", "s3cret", "s3cret"},
		"basic":    {Config{Scheme: "basic"}, "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("me:s3cret")), "me:s3cret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Request{Header: http.Header{c.header: {c.value}}, Body: []byte("{}")}
			mine, other := Secret{"mine", c.secret}, Secret{"other", c.secret + "2"}
			if err := c.config.Verify(r, []Secret{other, mine}, time.Now()); err != nil {
				t.Fatal(err)
			}
			refused(t, c.config.Verify(r, []Secret{other}, time.Now()), c.secret, "token of secret other")
			refused(t, c.config.Verify(r, []Secret{{"empty", ""}}, time.Now()), c.secret, "token of")
			r.Header.Set(c.header, "Digest x")
			refused(t, c.config.Verify(r, []Secret{mine}, time.Now()), c.secret, c.header)
			r.Header.Del(c.header)
			refused(t, c.config.Verify(r, []Secret{mine}, time.Now()), c.secret, c.header+" is missing; 2 bytes")
		})
	}
}

func TestVerify_none_accepts_everything(t *testing.T) {
	t.Parallel()
	c := Config{Scheme: "none"}
	if err := c.Verify(&Request{}, nil, time.Now()); err != nil || NeedsSecret("none") || !NeedsSecret("github") {
		t.Error(err)
	}
}

func TestVerify_says_what_was_checked(t *testing.T) {
	t.Parallel()
	s := samples()[2]
	r := s.request()
	err := s.config.Verify(r, []Secret{{"slack-live", "wrong"}}, time.Unix(s.at+4, 0))
	for _, word := range []string{fmt.Sprintf("%d bytes", len(s.body)), "HMAC SHA-256", "slack-live", "X-Slack-Signature found, 4 s old"} {
		refused(t, err, s.secret, word)
	}
}

func TestCheck_names_each_wrong_field(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]Config{
		"scheme": {Scheme: "guthib"}, "header": {Scheme: "hmac"}, "prefix": {Scheme: "github", Prefix: "x"}, "algorithm": {Scheme: "hmac", Header: "X", Algorithm: "md5"},
		"encoding": {Scheme: "hmac", Header: "X", Encoding: "latin"}, "signed": {Scheme: "hmac", Header: "X", Signed: "{timestamp}"}, "tolerance_s": {Scheme: "slack", Tolerance: 5},
		"timestamp_header": {Scheme: "hmac", Header: "X", Signed: "{timestamp}.{body}"},
	} {
		found := false
		for _, p := range c.Check() {
			found = found || p.Field == field && p.Detail != ""
		}
		if !found {
			t.Errorf("%s: %+v", field, c.Check())
		}
	}
	for _, name := range Names {
		if c := (Config{Scheme: name, Header: map[bool]string{true: "X-Sign"}[name == "hmac"]}); len(c.Check()) > 0 || Title(name) == "" {
			t.Errorf("%s: %v", name, c.Check())
		}
	}
	if len(Names) != len(schemes) {
		t.Errorf("%d names of %d schemes", len(Names), len(schemes))
	}
}

func TestPrivate_lists_every_header_with_a_secret(t *testing.T) {
	t.Parallel()
	c := Config{Scheme: "hmac", Header: "X-Mine"}
	list := strings.Join(c.Private(), " ")
	for _, name := range []string{"Authorization", "Cookie", "X-Mine", "Stripe-Signature", "X-Gitlab-Token", "X-Signature-Ed25519"} {
		if !strings.Contains(list, name) {
			t.Errorf("%s is missing in %s", name, list)
		}
	}
}
