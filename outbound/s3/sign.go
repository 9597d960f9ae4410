package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AWS Signature Version 4, as documented in "Authenticating Requests (AWS Signature Version 4)" of the
// API reference of Amazon S3.
const (
	algorithm   = "AWS4-HMAC-SHA256"
	timeForm    = "20060102T150405Z"
	emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	unsigned    = "UNSIGNED-PAYLOAD"
)

// Credentials are an access key.
type Credentials struct {
	KeyID, Secret string
	Token         string    // of temporary keys
	Expires       time.Time // zero if they do not expire
}

// signer signs requests to one region.
type signer struct {
	region, service string
}

// sign adds the headers that authenticate a request. All its headers are signed, with the SHA-256 of
// the body in hex.
func (s signer) sign(req *http.Request, c *Credentials, at time.Time, bodyHash string) {
	req.Header.Set("X-Amz-Date", at.UTC().Format(timeForm))
	req.Header.Set("X-Amz-Content-Sha256", bodyHash)
	if c.Token != "" {
		req.Header.Set("X-Amz-Security-Token", c.Token)
	}
	names, headers := canonicalHeaders(req)
	signature := s.signature(c, at, req.Method, req.URL, headers, names, bodyHash)
	req.Header.Set("Authorization", algorithm+" Credential="+c.KeyID+"/"+s.scope(at)+",SignedHeaders="+names+",Signature="+signature)
}

// presign returns a URL with which anyone can send a request without a body for a while.
func (s signer) presign(method string, u *url.URL, c *Credentials, at time.Time, lifetime time.Duration) string {
	signed := *u
	query := signed.Query()
	query.Set("X-Amz-Algorithm", algorithm)
	query.Set("X-Amz-Credential", c.KeyID+"/"+s.scope(at))
	query.Set("X-Amz-Date", at.UTC().Format(timeForm))
	query.Set("X-Amz-Expires", strconv.Itoa(int(lifetime/time.Second)))
	query.Set("X-Amz-SignedHeaders", "host")
	if c.Token != "" {
		query.Set("X-Amz-Security-Token", c.Token)
	}
	signed.RawQuery = canonicalQuery(query)
	signature := s.signature(c, at, method, &signed, "host:"+signed.Host+"\n", "host", unsigned)
	signed.RawQuery += "&X-Amz-Signature=" + signature
	return signed.String()
}

// scope limits a signature to a day, a region and a service.
func (s signer) scope(at time.Time) string {
	return at.UTC().Format("20060102") + "/" + s.region + "/" + s.service + "/aws4_request"
}

func (s signer) signature(c *Credentials, at time.Time, method string, u *url.URL, headers, names, bodyHash string) string {
	canonical := strings.Join([]string{method, escape(u.Path, true), canonicalQuery(u.Query()), headers, names, bodyHash}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{algorithm, at.UTC().Format(timeForm), s.scope(at), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + c.Secret)
	for _, part := range []string{at.UTC().Format("20060102"), s.region, s.service, "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// canonicalHeaders returns the names of the signed headers and their lines, in order.
func canonicalHeaders(req *http.Request) (names, lines string) {
	values := map[string]string{"host": req.Host}
	if req.Host == "" {
		values["host"] = req.URL.Host
	}
	for name, v := range req.Header {
		values[strings.ToLower(name)] = strings.TrimSpace(strings.Join(v, ","))
	}
	var order []string
	for name := range values {
		order = append(order, name)
	}
	slices.Sort(order)
	var b strings.Builder
	for _, name := range order {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(order, ";"), b.String()
}

// canonicalQuery encodes a query in the order and with the escapes that signatures need. It is also a
// valid query.
func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		for _, v := range values {
			pairs = append(pairs, escape(name, false)+"="+escape(v, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape percent-encodes everything but letters, digits, "-", ".", "_" and "~", and "/" in a path.
func escape(text string, path bool) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0, path && c == '/':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}
