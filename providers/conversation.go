package providers

import (
	"context"
	"encoding/base64"
	"io"
	"slices"
	"strings"
)

// Limits of the images of one request in bytes. They are sent as base64 in one JSON
// document, so all of them are in memory at the same time.
const (
	maxPicture  = 20 << 20 // OpenAI's limit; others have lower ones and report them
	maxPictures = 48 << 20
)

// conversation is a request with its images read, independent of the wire format. A chat is one
// without items and tools.
type conversation struct {
	TurnRequest
	session *session
	agent   bool // the answer may have calls and is carried on: a call of Turn
	turns   []message
	offered []offered // the tools
	form    *form     // nil: free text
	dialect dialect
	first   dialect // before any adaptation to a rejection
	sent    feature // features of the last request
	origin  string  // of items that are opaque to others; see Opaque.Wire
	marks   bool    // the provider passes cache marks on to the model
	paused  []Item  // an answer that the provider interrupted; see askAnthropic
	repair  *repair // nil on the first turn
	tries   int     // number of requests sent; each needs its own idempotency key
}

// answerHint asks for the hidden tool; see conversation.hidesAnswer.
const answerHint = "When you have the answer, give it by calling the tool " + answerName + ", and write no text."

// message is a turn with its images read.
type message struct {
	role  string
	parts []part
}

// part is a text or, if one of the others is set, that.
type part struct {
	text    string
	picture *picture
	call    *ToolCall
	result  *ToolResult
	opaque  *Opaque
}

// isText reports whether a part is a text.
func (p *part) isText() bool {
	return p.picture == nil && p.call == nil && p.result == nil && p.opaque == nil
}

// plain returns the text of a message that consists of one text.
func (m message) plain() (string, bool) {
	if len(m.parts) == 1 && m.parts[0].isText() {
		return m.parts[0].text, true
	}
	return "", false
}

// dialect is the form of a request: capabilities that a rejection can correct.
type dialect struct {
	off         feature // features that were refused
	doubtful    feature // of off, those that are not remembered
	schema      SchemaMode
	maxTokens   string
	streamUsage bool
	adaptive    bool // newer models of Anthropic take an effort, older ones a budget
}

// repair is the correction turn: the invalid answer and what is wrong with it.
type repair struct{ answer, wrong string }

// picture is an image to send: a URL, or content.
type picture struct{ url, mime, data string }

// dataURL returns the picture as a URL: its own, or a data URL with its content.
func (p picture) dataURL() string {
	if p.url != "" {
		return p.url
	}
	return "data:" + p.mime + ";base64," + p.data
}

// reply is an answer, independent of the wire format.
type reply struct {
	text, model, stop string
	items             []Item // of Turn: the whole answer in order
	value             any    // the decoded answer if there is a schema
	usage             Usage
	billed            bool // usage is final
	whole             bool // the answer ended properly
}

// newConversation validates a request, reads its images, and chooses the form of the request
// for the provider.
func (s *session) newConversation(ctx context.Context, req TurnRequest, agent bool) (*conversation, error) {
	if req.Model == "" {
		return nil, badRequest("No model is chosen.")
	}
	if _, has := req.Extra["tools"]; has && len(req.Tools) > 0 {
		return nil, badRequest("The extra parameters cannot set tools, because they would replace those of the request.")
	}
	form, err := newForm(req.Schema)
	if err != nil {
		return nil, badRequest("The schema of the answer cannot be used: %s.", err)
	}
	c := &conversation{TurnRequest: req, session: s, agent: agent, form: form}
	c.dialect = c.recall()
	switch {
	case form != nil && !form.object:
		c.dialect.schema = SchemaNone // the other modes support only objects
	case len(req.Tools) > 0: // a format, or the hidden tool
		if !s.preset.FormatWithTools || s.preset.Wire == WireAnthropic && form != nil && form.strict == nil {
			c.dialect.off |= featFormat
		}
	case s.preset.Wire == WireAnthropic && (req.thinks() || req.WebSearch):
		c.dialect.schema = SchemaJSON // a forced tool excludes thinking and web search
	}
	c.first = c.dialect
	c.marks = s.preset.Wire == WireOpenAI && s.preset.CacheMarks(req.Model)
	if c.offered, err = offer(req.Tools, s.preset.lowering()); err != nil {
		return nil, err
	}
	left := int64(maxPictures)
	if c.turns, err = s.readTurns(ctx, &req, &left); err != nil {
		return nil, err
	}
	return c, c.readItems(ctx, &left)
}

// readTurns reads the images of all messages, and makes the prompt the last message. left is the
// remaining limit for all images in bytes.
// Its images come before its text on Anthropic's wire, as its guide advises, and after
// it on OpenAI's.
func (s *session) readTurns(ctx context.Context, req *TurnRequest, left *int64) ([]message, error) {
	turns := slices.Clip(req.History)
	var last []ChatPart
	for i := range req.Images {
		last = append(last, ChatPart{Image: &req.Images[i]})
	}
	switch text := (ChatPart{Text: req.Prompt}); {
	case req.Prompt == "" && (len(last) > 0 || endsWithUser(turns) || len(req.Items) > 0):
	case s.preset.Wire == WireAnthropic:
		last = append(last, text)
	default:
		last = append([]ChatPart{text}, last...)
	}
	if len(last) > 0 {
		turns = append(turns, ChatTurn{Role: "user", Parts: last})
	}
	list := make([]message, len(turns))
	for i, t := range turns {
		list[i].role = t.Role
		for _, p := range t.Parts {
			read := part{text: p.Text}
			if p.Image != nil {
				var err error
				if read.picture, err = s.readImage(ctx, *p.Image, left); err != nil {
					return nil, err
				}
			}
			list[i].parts = append(list[i].parts, read)
		}
	}
	return list, nil
}

// endsWithUser reports whether the last turn has the role user.
func endsWithUser(turns []ChatTurn) bool {
	return len(turns) > 0 && turns[len(turns)-1].Role == "user"
}

// readImage reads an image. left is the remaining limit for all images in bytes.
func (s *session) readImage(ctx context.Context, m Media, left *int64) (*picture, error) {
	if m.Open == nil {
		p, err := s.linked(m)
		return &p, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	data, err := readPicture(m, min(*left, maxPicture))
	if err != nil {
		return nil, err
	}
	*left -= int64(len(data))
	return &picture{mime: m.MIME, data: base64.StdEncoding.EncodeToString(data)}, nil
}

// linked returns an image that the provider downloads.
func (s *session) linked(m Media) (picture, error) {
	switch {
	case m.URL == "":
		return picture{}, badRequest("A picture has neither content nor a URL.")
	case strings.HasPrefix(m.URL, "data:"):
		mime, data, ok := strings.Cut(strings.TrimPrefix(m.URL, "data:"), ";base64,")
		if !ok {
			return picture{}, badRequest("A picture is a data: URL without base64.")
		}
		return picture{mime: mime, data: data}, nil
	case !s.preset.ImageURLs:
		return picture{}, &Error{Class: ClassIncompatible, Message: s.name + " takes pictures as files and not by URL. Fetch the picture first."}
	}
	return picture{url: m.URL}, nil
}

// readPicture reads a picture of at most limit bytes. Its declared size is checked first, so that
// a large file is not opened.
func readPicture(m Media, limit int64) ([]byte, error) {
	if m.MIME == "" {
		return nil, badRequest("The picture %s has no type, such as image/png.", m.Name)
	}
	large := badRequest("The picture %s is too large: one may have %d MiB and all together %d MiB.", m.Name, maxPicture>>20, maxPictures>>20)
	if m.Size > limit {
		return nil, large
	}
	in, err := m.Open()
	if err != nil {
		return nil, badRequest("The picture %s cannot be read.", m.Name)
	}
	defer in.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, badRequest("The picture %s cannot be read to its end.", m.Name)
	}
	if int64(len(data)) > limit {
		return nil, large
	}
	return data, nil
}

// instructions returns the system text, including the schema unless it is passed to the
// provider in another way.
func (c *conversation) instructions() string {
	switch {
	case c.hidesAnswer():
		return strings.TrimSpace(c.System + "\n\n" + answerHint)
	case c.form == nil || c.dialect.schema == SchemaStrict:
		return c.System
	}
	return strings.TrimSpace(c.System + "\n\n" + c.form.prompt())
}

// key returns the idempotency key of the next request. Requests of one call differ in
// their bodies, so all but the first have a suffix.
func (c *conversation) key() string {
	c.tries++
	if c.Key == "" || c.tries == 1 {
		return c.Key
	}
	return c.Key + "#" + itoa(c.tries)
}
