package s3

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Error is an answer of the storage that is no success.
type Error struct {
	Status  int
	Code    string // of S3, such as NoSuchBucket; may be empty
	Message string // of the storage
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("the storage answered with status %d (%s)", e.Status, cmp.Or(e.Code, "no code"))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// readError reads the error in the body of a response.
func readError(resp *http.Response) *Error {
	e := &Error{Status: resp.StatusCode}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var body struct{ Code, Message string }
	if xml.Unmarshal(data, &body) == nil {
		e.Code, e.Message = body.Code, body.Message
		if len(e.Message) > 300 {
			e.Message = e.Message[:300]
		}
	}
	return e
}

// isExpired reports whether a temporary key has ended.
func (e *Error) isExpired() bool {
	return slices.Contains([]string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken"}, e.Code)
}

// isTransient reports whether the same request may succeed in a moment.
func isTransient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return true // the connection
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict ||
		slices.Contains([]string{"RequestTimeout", "SlowDown", "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody"}, e.Code)
}

// Explain returns what an operator should do about an error of the storage.
func Explain(err error) string {
	if errors.Is(err, errNoCredentials) {
		return "Set SLUICE_FILES_KEY_ID and SLUICE_FILES_SECRET."
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return "Check the endpoint in SLUICE_FILES and the network between."
	case e.Code == "NoSuchBucket":
		return "Create the bucket, or correct its name in SLUICE_FILES."
	case e.Code == "InvalidAccessKeyId", e.Code == "XAdminUserNotFound":
		return "The storage does not know this access key. Correct SLUICE_FILES_KEY_ID."
	case e.Code == "SignatureDoesNotMatch":
		return "The secret does not belong to the access key. Correct SLUICE_FILES_SECRET."
	case e.Code == "RequestTimeTooSkewed" || e.Code == "AccessDenied" && e.Message == "Request has expired":
		return "The clock of this machine is wrong. Synchronize it, such as with chrony."
	case e.isExpired():
		return "The temporary access key has expired. Renew it, or use a role."
	case e.Code == "PermanentRedirect" || e.Code == "AuthorizationHeaderMalformed" || e.Code == "IllegalLocationConstraintException" || e.Status == http.StatusMovedPermanently:
		return "The bucket is in another region. Correct region in SLUICE_FILES."
	case e.Status == http.StatusForbidden:
		return "Allow the access key to list the bucket, and to get, put and delete its objects."
	case e.Status == http.StatusNotFound:
		return "Check the bucket, the endpoint and path_style in SLUICE_FILES."
	}
	return "See the documentation of the storage, or try again later."
}
