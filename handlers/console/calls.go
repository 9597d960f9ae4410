package console

// keyCall is a request about keys.
type keyCall struct{ *call }

func onKey(handle func(*keyCall) error) func(*call) error {
	return func(c *call) error { return handle(&keyCall{c}) }
}

// webhookCall is a request about webhooks and their deliveries.
type webhookCall struct{ *call }

func onWebhook(handle func(*webhookCall) error) func(*call) error {
	return func(c *call) error { return handle(&webhookCall{c}) }
}

// credentialCall is a request about credentials.
type credentialCall struct{ *call }

func onCredential(handle func(*credentialCall) error) func(*call) error {
	return func(c *call) error { return handle(&credentialCall{c}) }
}
