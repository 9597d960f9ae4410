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

// secretWords mark a header as a credential if its lowercase name contains one:
// Authorization, Cookie, Proxy-Authorization, X-Api-Key, X-Auth-Token,
// X-Amz-Security-Token, X-Signature and similar names. False positives are
// acceptable: a header that is dropped needlessly leads to a clear error of the
// other host, while one that is sent needlessly leaks a key.
var secretWords = []string{
	"auth", "cookie", "token", "key", "secret", "pass", "pwd", "psw", "cred", "session", "sid", "sig", "hmac", "jwt", "otp", "bearer",
}

// checkRedirect implements http.Client.CheckRedirect. It is called before each
// redirected request, to which the headers of the first one were already copied.
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
	if err := keepMethod(req, via); err != nil {
		return err
	}
	req.Header.Del("Referer") // the previous URL, whose query may contain secrets
	if leftHost(req, via) {
		if h.keepBody && req.ContentLength != 0 {
			return redirectRefused("The server redirected to another host, " + shownTarget(req.URL) + ", and the body of the request contains a credential. Send it to that host directly.")
		}
		dropSecrets(req.Header, h.secret)
	}
	return nil
}

// keepMethod restores the method and the body that net/http drops. After 301 and 302 it
// sends a GET whatever the method was, but only a POST may change (RFC 9110, sections 15.4.2
// and 15.4.3): a PUT that becomes a GET looks as if it had succeeded. 303 asks for a GET of
// another resource, and 307 and 308 change nothing. Every body but that of a changed request
// is sent again.
func keepMethod(req *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	switch req.Response.StatusCode {
	case http.StatusSeeOther:
		return nil
	case http.StatusMovedPermanently, http.StatusFound:
		if last.Method == http.MethodPost {
			return nil
		}
	}
	req.Method = last.Method
	if last.ContentLength == 0 {
		return nil // it had no body, or has lost it after an earlier redirect
	}
	if first.GetBody == nil {
		return redirectRefused("The server redirected the " + req.Method + " request to " + shownTarget(req.URL) + ", but its body cannot be sent twice. Send it there directly.")
	}
	body, err := first.GetBody()
	if err != nil {
		return redirectRefused("The server redirected the " + req.Method + " request to " + shownTarget(req.URL) + ", but its body cannot be sent again.")
	}
	req.Body, req.GetBody, req.ContentLength = body, first.GetBody, last.ContentLength
	for name, values := range first.Header {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), "Content-") {
			req.Header[name] = values
		}
	}
	return nil
}

// maxTargetShown is the number of bytes of a redirect's target that an error shows.
const maxTargetShown = 200

// shownTarget returns the target of a redirect for errors, without its query, which may
// contain secrets.
func shownTarget(u *url.URL) string {
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if len(shown) > maxTargetShown {
		return shown[:maxTargetShown] + "…"
	}
	return shown
}

// redirectTarget returns the error for a redirect to an invalid URL. Errors for
// blocked addresses stay unchanged; others are rephrased, because the user did not
// write the URL.
func redirectTarget(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassBlocked {
		return e
	}
	return redirectRefused("The server redirected to a URL that Sluice does not follow.")
}

// leftHost reports whether any hop so far went to another host. It checks all of
// them, because each hop starts with the headers of the first request: after a
// detour, a redirect back to the first host is no longer trusted.
func leftHost(req *http.Request, via []*http.Request) bool {
	for _, hop := range append(via[1:len(via):len(via)], req) {
		if !sameHost(via[0].URL, hop.URL) {
			return true
		}
	}
	return false
}

// sameHost compares host names and ports, because another port is another service.
// A redirect from http to https on the default ports is not a change.
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
// tokens and keys.
func isSecret(name string) bool {
	name = strings.ToLower(textproto.TrimString(name))
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}
