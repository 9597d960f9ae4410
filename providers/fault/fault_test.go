package fault_test

import (
	"testing"

	"sluice/providers/fault"
)

// TestFind_accepts_answers_like_errors has bodies that are answers although they look like errors. The forms of errors are
// in the conformance table of package providers.
func TestFind_accepts_answers_like_errors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"choices":[{"delta":{"content":"x"}}],"error":null}`,
		`{"choices":[{"delta":{"content":"x"},"error":null}],"error":{}}`,
		`{"choices":[],"usage":{"prompt_tokens":1}}`,
		`{"choices":[{"message":{"content":"{\"error\": \"x\"}"}}],"code":0,"message":"success"}`,
		`{"code":200,"msg":"ok","data":[]}`,
		`{"code":0,"message":"ok","data":{"x":1}}`,
		`{"base_resp":{"status_code":0,"status_msg":"success"},"choices":[]}`,
		`{"success":true,"errors":[],"result":{"response":"x"}}`,
		`{"type":"message_start","message":{"content":[]}}`,
		`{"type":"response.created","response":{"error":null,"status":"in_progress"}}`,
		`{"type":"ping"}`,
		`{"text":""}`,
		`{"object":"list","data":null}`,
		`{"status":"succeeded","title":"x","output":"y"}`,
		`[1,2]`, `17`, `"error"`, `{"error":`, ``, `{}`,
	} {
		if status, _, failed := fault.Find([]byte(body)); failed {
			t.Errorf("%s: got the status %d", body, status)
		}
	}
}
