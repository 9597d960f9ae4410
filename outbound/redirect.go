package outbound

import (
	"errors"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// secretWords mark a header as a credential wherever they occur in its name, in
// lower case: Authorization, Cookie, Proxy-Authorization, X-Api-Key,
// X-Auth-Token, X-Amz-Security-Token, X-Signature and whatever is named like
// them. A header dropped for nothing costs a clear refusal by the other host, a
// header sent for nothing costs a key.
var secretWords = []string{
	"auth", "cookie", "token", "key", "secret", "pass", "pwd", "psw", "cred", "session", "sid", "sig", "hmac", "jwt", "otp", "bearer",
}

// checkRedirect is http.Client's CheckRedirect: called before each redirected
// request, with the headers of the first one already copied to it.
func (h *hop) checkRedirect(req *http.Request, via []*http.Request) error {
	if h.redirects == 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > h.redirects {
		return redirectRefused("The server redirected more than " + strconv.Itoa(h.redirects) + " times.")
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return redirectRefused("The server redirected from https to an unencrypted address.")
	}
	if err := h.client.guard.checkTarget(req.URL, h.provider); err != nil {
		return redirectTarget(err)
	}
	req.Header.Del("Referer") // the last URL, with whatever its query holds
	if leftHost(req, via) {
		if h.keepBody && req.ContentLength != 0 {
			return redirectRefused("The server redirected to another host, and the body of the request holds a credential. Send it to that host directly.")
		}
		dropSecrets(req.Header, h.secret)
	}
	return nil
}

// redirectTarget keeps the one text for blocked addresses and words the rest
// for somebody who did not write the URL.
func redirectTarget(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassBlocked {
		return e
	}
	return redirectRefused("The server redirected to an address Sluice does not follow.")
}

// leftHost reports whether any hop so far went elsewhere. It looks at all of
// them, because every hop starts from the headers of the first: a way back to
// the first host is not a way back to its trust.
func leftHost(req *http.Request, via []*http.Request) bool {
	for _, hop := range append(via[1:len(via):len(via)], req) {
		if !sameHost(via[0].URL, hop.URL) {
			return true
		}
	}
	return false
}

// sameHost compares names and ports; another port is another service. The
// ordinary step from http to https is not a change.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	a, b := effectivePort(from), effectivePort(to)
	return a == b || (a == "80" && b == "443" && to.Scheme == "https")
}

// dropSecrets removes headers that must not follow a redirect to another host: those
// whose names suggest a secret, and those that the caller marked in SecretHeaders.
func dropSecrets(header http.Header, marked []string) {
	for name := range header {
		if isSecret(name) || slices.ContainsFunc(marked, func(m string) bool { return strings.EqualFold(m, name) }) {
			delete(header, name)
		}
	}
}

// isSecret reports whether the name of a header contains a word such as those for
// tokens and keys. A harmless header that is dropped costs less than a secret that is
// sent.
func isSecret(name string) bool {
	name = strings.ToLower(textproto.TrimString(name))
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}
