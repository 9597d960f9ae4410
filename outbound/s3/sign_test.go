package s3

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestSign compares signatures with the examples in the API reference of Amazon S3.
func TestSign(t *testing.T) {
	t.Parallel()
	c := &Credentials{KeyID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	s := signer{"us-east-1", "s3"}
	for name, test := range map[string]struct {
		method, url, hash string
		headers           []string
		want              string
	}{
		"get a range": {"GET", "/test.txt", emptySHA256, []string{"Range", "bytes=0-9"},
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		"put": {"PUT", "/test$file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			[]string{"Date", "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class", "REDUCED_REDUNDANCY"},
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		"a query without a value": {"GET", "/?lifecycle", emptySHA256, nil,
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		"list": {"GET", "/?max-keys=2&prefix=J", emptySHA256, nil,
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequest(test.method, "https://examplebucket.s3.amazonaws.com"+test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(test.headers); i += 2 {
				req.Header.Set(test.headers[i], test.headers[i+1])
			}
			s.sign(req, c, at, test.hash)
			if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+test.want) {
				t.Errorf("got %s, want the signature %s", got, test.want)
			}
		})
	}
	u, _ := url.Parse("https://examplebucket.s3.amazonaws.com/test.txt")
	const want = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	if got := s.presign("GET", u, c, at, 24*time.Hour); !strings.HasSuffix(got, "&X-Amz-Signature="+want) {
		t.Errorf("got %s, want the signature %s", got, want)
	}
}
