package console

// keyCall is a request about API keys. Handlers of a noun have a separate type, so
// that call has fewer methods.
type keyCall struct{ *call }

// onKey wraps a handler of keyCall.
func onKey(handle func(*keyCall) error) func(*call) error {
	return func(c *call) error { return handle(&keyCall{c}) }
}

// webhookCall is a request about webhooks and their deliveries.
type webhookCall struct{ *call }

// onWebhook wraps a handler of webhookCall.
func onWebhook(handle func(*webhookCall) error) func(*call) error {
	return func(c *call) error { return handle(&webhookCall{c}) }
}

// credentialCall is a request about credentials.
type credentialCall struct{ *call }

// onCredential wraps a handler of credentialCall.
func onCredential(handle func(*credentialCall) error) func(*call) error {
	return func(c *call) error { return handle(&credentialCall{c}) }
}
