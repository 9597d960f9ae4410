package editor

// The builder has more handlers than one type should have methods. The handlers of a noun are
// therefore methods of a type that embeds call, and a wrapper converts them for the route table.

// apiCall is a request about the API pane and the calls that it shows.
type apiCall struct{ *call }

// onAPI wraps a handler of apiCall.
func onAPI(handle func(*apiCall) error) func(*call) error {
	return func(c *call) error { return handle(&apiCall{c}) }
}

// versionCall is a request about publishing, versions and comparisons.
type versionCall struct{ *call }

// onVersion wraps a handler of versionCall.
func onVersion(handle func(*versionCall) error) func(*call) error {
	return func(c *call) error { return handle(&versionCall{c}) }
}

// formCall is a request about the settings of a public form.
type formCall struct{ *call }

// onForm wraps a handler of formCall.
func onForm(handle func(*formCall) error) func(*call) error {
	return func(c *call) error { return handle(&formCall{c}) }
}

// pickerCall is a request about choosing models, files, credentials and flows for a node.
type pickerCall struct{ *call }

// onPicker wraps a handler of pickerCall.
func onPicker(handle func(*pickerCall) error) func(*call) error {
	return func(c *call) error { return handle(&pickerCall{c}) }
}

// pinCall is a request about pinned outputs.
type pinCall struct{ *call }

// onPin wraps a handler of pinCall.
func onPin(handle func(*pinCall) error) func(*call) error {
	return func(c *call) error { return handle(&pinCall{c}) }
}
