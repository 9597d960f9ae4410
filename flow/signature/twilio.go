package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// twilioSettings is the header by which Twilio says that a request is signed with a shared key of its webhook settings.
const twilioSettings = "X-Twilio-Webhooks-Signature-Settings"

// verifyTwilio checks the signature of Twilio: over the address followed by the form's sorted fields or, of JSON, over the
// address, which has a hash of the body.
func (s *scheme) verifyTwilio(r *Request, header string, secrets []Secret) error {
	algorithm := *s
	if settings := r.Header.Get(twilioSettings); settings != "" {
		_, name, _ := strings.Cut(settings, "algorithm=")
		name, _, _ = strings.Cut(name, ",")
		if algorithm.hash = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(name), "HMAC_"), "-", "")); hashes[algorithm.hash] == nil {
			return refuse("The header %s names an algorithm that is not known here.", twilioSettings)
		}
	}
	address, err := url.Parse(r.URL)
	if err != nil {
		return refuse("The public address of this server cannot be read, which Twilio signs.")
	}
	fields, err := twilioFields(r, address)
	if err != nil {
		return err
	}
	given := algorithm.signatures(header)
	for _, form := range portForms(address) {
		if algorithm.matches([][]byte{[]byte(form), []byte(fields)}, given, secrets) {
			return nil
		}
	}
	shown := *address
	shown.RawQuery = ""
	return refuse("The signature doesn't match: checked %d bytes and the address at %s with %s, %s; header %s found. Twilio signs the address: set SLUICE_PUBLIC_URL to the one that Twilio calls.",
		len(r.Body), shown.Scheme+"://"+shown.Host, algorithm.algorithm(), names(secrets), s.header)
}

// twilioFields returns what is signed after the address: the fields of a form with their values, sorted by name.
func twilioFields(r *Request, address *url.URL) (string, error) {
	if want := address.Query().Get("bodySHA256"); want != "" {
		sum := sha256.Sum256(r.Body)
		if subtle.ConstantTimeCompare([]byte(strings.ToLower(want)), []byte(hex.EncodeToString(sum[:]))) != 1 {
			return "", refuse("The body doesn't have the hash bodySHA256 of the address; %d bytes were received.", len(r.Body))
		}
		return "", nil
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return "", refuse("The body is not a form, and the address has no bodySHA256.")
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(form)) {
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			b.WriteString(name)
			b.WriteString(v)
		}
	}
	return b.String(), nil
}

// portForms returns an address with and without its port. Twilio signs either, depending on the product.
func portForms(address *url.URL) []string {
	with, without := *address, *address
	without.Host = address.Hostname()
	if strings.Contains(without.Host, ":") {
		without.Host = "[" + without.Host + "]"
	}
	if address.Port() == "" {
		with.Host += map[string]string{"https": ":443", "http": ":80"}[address.Scheme]
	}
	return []string{without.String(), with.String()}
}

// hmacHex returns the HMAC-SHA-256 of a text in hexadecimal.
func hmacHex(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}
