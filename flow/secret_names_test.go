package flow

import "testing"

func TestIsSecretName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "cookie", "Proxy-Authorization", "X-API-Key", "X-Auth-Token", "My-Secret", "X-RapidAPI-Key", "x-functions-key", "Token", "ApiKey",
		"Password", "apikey", "api_key", "APIKey", "apiToken", "access_token", "accessToken", "refresh_token", "client_secret", "clientSecret", "X-Signature", "sig",
		"X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "DD-APPLICATION-KEY", "X-Amz-Security-Token", "X-Hub-Signature-256", "passwd", "pwd", "passphrase",
		"private_key", "X-Session-Token", "session_id", "SessionId", "JSESSIONID_TOKEN", "X-Vault-Token", "PRIVATE-TOKEN", "Job-Token", "X-Shopify-Access-Token",
		"routing_key", "key", "auth", "oauth_token", "X-Auth-Key", "xi-api-key", "bearer", "jwt", "db_password", "smtpPassword", "credentials", "X-Master-Key", "licenseKey", "accesskey",
	} {
		if !IsSecretName(name) {
			t.Errorf("%s is not taken for a secret", name)
		}
	}
	for _, name := range []string{
		"max_tokens", "maxTokens", "max_completion_tokens", "tokens", "keyword", "keywords", "monkey", "turkey", "Idempotency-Key", "idempotencyKey", "author", "authors", "authority",
		"Accept", "X-Request-Id", "Content-Type", "key_id", "token_type", "auth_url", "page_token", "nextPageToken", "primary_key", "foreignKey", "sort_key", "public_key",
		"publishableKey", "tokenizer", "Sec-WebSocket-Key", "passenger", "compass", "design", "signal", "secretary_of_nothing_id", "keyboard", "X-Auth-User", "", "user", "Host", "User-Agent",
		"Surrogate-Key", "token_count", "signature_algorithm", "Cache-Key", "assign",
	} {
		if IsSecretName(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
}

func TestLooksSecret(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"sk-proj-abcdefgh12345678", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "AIzaSyA1234567890abcdefghijklmnop", "Bearer abc123def456",
		"xoxb-123456789012-abcdefGHIJKL", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "9f86d081884c7d659a2feaa0c55ad015", "wJalrXUtnFEMI7K7MDENG8bPxRfiCYEXAMPLEKEY",
	} {
		if !LooksSecret(s) {
			t.Errorf("%q does not look like a secret", s)
		}
	}
	for _, s := range []string{
		"", "hello", "text/plain", "https://example.com/a/very/long/path/1234567890abcdef", "123e4567-e89b-12d3-a456-426614174000", "2026-11-22T19:00:00.000Z",
		"my-long-hyphenated-name-of-2026-november", "application/vnd.github.v3+json", "aaaaaaaaaaaaaaaaaaaaaaaaa1111", "00000000000000000000", "a sentence with several words 12345", "{{token}}{{token}}{{token}}",
	} {
		if LooksSecret(s) {
			t.Errorf("%q looks like a secret", s)
		}
	}
}
