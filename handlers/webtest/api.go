package webtest

// Greeting takes a name, and a count that defaults to 3, and returns a text. The example of the
// name contains markup, so that tests detect a page that does not escape it.
const Greeting = `{"schema":"sluice.flow/v1","name":"Greet","nodes":[
 {"id":"who","kind":"input","config":{"name":"who","type":"text","example":"Ada <b>","description":"Whom to greet."}},
 {"id":"count","kind":"input","config":{"name":"count","type":"number","default":3}},
 {"id":"words","kind":"template","label":"Say hello","config":{"template":"Hello {{who}}, {{count}} times"}},
 {"id":"out","kind":"output","label":"The greeting","config":{"name":"text"}}],
 "edges":[{"from":"who.value","to":"words.who"},{"from":"count.value","to":"words.count"},{"from":"words.text","to":"out.value"}]}`

// PublishedFlow imports a document as a flow and publishes it.
func (h *Env) PublishedFlow(document string) (id string) {
	h.T.Helper()
	id = h.Flow(document)
	h.Publish(id)
	return id
}
