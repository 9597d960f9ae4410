package providers

import (
	"context"
	"encoding/base64"
	"io"
	"slices"
	"strings"
)

// Limits of the pictures of one turn, in bytes. They travel as base64 in one
// JSON document, so all of them are in memory at once.
const (
	maxPicture  = 20 << 20 // as OpenAI's; others allow less and say so
	maxPictures = 48 << 20
)

// conversation is a chat request on its way to one of the wires.
type conversation struct {
	ChatRequest
	turns  []message
	form   *form // nil: free text
	manner manner
	first  manner  // before any refusal
	marks  bool    // OpenRouter passes marks for the cache on to the model
	repair *repair // nil on the first turn
	tries  int     // requests sent, for keys that name one body each
}

// message is a turn with its images read.
type message struct {
	role  string
	parts []part
}

// part is a text or, if picture is set, an image.
type part struct {
	text    string
	picture *picture
}

// plain returns the text of a message of one text.
func (m message) plain() (string, bool) {
	if len(m.parts) == 1 && m.parts[0].picture == nil {
		return m.parts[0].text, true
	}
	return "", false
}

// manner is how a request is put: capabilities that a refusal can correct.
type manner struct {
	schema      SchemaMode
	maxTokens   string
	streamUsage bool
	adaptive    bool // Anthropic's models think by an effort, older ones by a budget
}

// repair is the second turn: what was answered and what is wrong with it.
type repair struct{ answer, wrong string }

// picture is one image as it goes out: by URL, or as content.
type picture struct{ url, mime, data string }

// dataURL returns the picture as a URL: its own, or a data URL with its content.
func (p picture) dataURL() string {
	if p.url != "" {
		return p.url
	}
	return "data:" + p.mime + ";base64," + p.data
}

// reply is what a wire brings back.
type reply struct {
	text, model, stop string
	usage             Usage
}

// newConversation checks a request before anything is sent, reads its pictures, and chooses the
// form in which the provider is asked.
func (s *session) newConversation(ctx context.Context, req ChatRequest) (*conversation, error) {
	if req.Model == "" {
		return nil, badRequest("No model is chosen.")
	}
	form, err := newForm(req.Schema)
	if err != nil {
		return nil, badRequest("The schema of the answer cannot be used: %s.", err)
	}
	c := &conversation{ChatRequest: req, form: form, manner: manner{
		maxTokens: s.preset.MaxTokens, streamUsage: s.preset.StreamUsage, schema: s.preset.Schema, adaptive: req.ThinkingBudget == 0,
	}}
	switch {
	case form != nil && !form.object:
		c.manner.schema = SchemaNone // the other ways can only make objects
	case s.preset.Wire == WireAnthropic && (req.thinks() || req.WebSearch):
		c.manner.schema = SchemaJSON // a forced tool leaves no room to think or to search
	}
	c.first = c.manner
	c.marks = s.preset.Wire == WireOpenAI && s.preset.CacheMarks(req.Model)
	c.turns, err = s.readTurns(ctx, &req)
	return c, err
}

// readTurns reads the images of all messages, and makes the prompt the last message.
// Its images come before its text on Anthropic's wire, as its guide advises, and after
// it on OpenAI's.
func (s *session) readTurns(ctx context.Context, req *ChatRequest) ([]message, error) {
	turns := slices.Clip(req.History)
	var last []ChatPart
	for i := range req.Images {
		last = append(last, ChatPart{Image: &req.Images[i]})
	}
	switch text := (ChatPart{Text: req.Prompt}); {
	case req.Prompt == "" && (len(last) > 0 || endsWithUser(turns)):
	case s.preset.Wire == WireAnthropic:
		last = append(last, text)
	default:
		last = append([]ChatPart{text}, last...)
	}
	if len(last) > 0 {
		turns = append(turns, ChatTurn{Role: "user", Parts: last})
	}
	list, left := make([]message, len(turns)), int64(maxPictures)
	for i, t := range turns {
		list[i].role = t.Role
		for _, p := range t.Parts {
			read := part{text: p.Text}
			if p.Image != nil {
				var err error
				if read.picture, err = s.readImage(ctx, *p.Image, &left); err != nil {
					return nil, err
				}
			}
			list[i].parts = append(list[i].parts, read)
		}
	}
	return list, nil
}

// endsWithUser reports whether the last turn is one of the user.
func endsWithUser(turns []ChatTurn) bool {
	return len(turns) > 0 && turns[len(turns)-1].Role == "user"
}

// readImage reads an image. left is what all images may still have, in bytes.
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

// linked is an image that the provider fetches.
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
	defer in.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, badRequest("The picture %s cannot be read to its end.", m.Name)
	}
	if int64(len(data)) > limit {
		return nil, large
	}
	return data, nil
}

// instructions is the system text, with the schema in it where the provider is
// not told the schema in another way.
func (c *conversation) instructions() string {
	if c.form == nil || c.manner.schema == SchemaStrict {
		return c.System
	}
	return strings.TrimSpace(c.System + "\n\n" + c.form.prompt())
}

// key names the request that is about to be sent. Requests of one call differ
// in their bodies, so only the first has the key as it was given.
func (c *conversation) key() string {
	c.tries++
	if c.Key == "" || c.tries == 1 {
		return c.Key
	}
	return c.Key + "#" + itoa(c.tries)
}
