package forms

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/a-h/templ"
)

// ChatPage is the chat form of a flow that has an input of type messages.
type ChatPage struct {
	FormPage
	Name, Text   string // of the message field
	FlowID       string
	Pictures     bool   // visitors may attach images
	Picture      string // name of the image field, for browsers without scripts
	Accept       string // accepted image types
	MostPictures int    // per conversation
	MostFile     int64  // bytes per image
	Kept         bool   // conversations are stored for the owner
}

// forChat returns the page with the script and styles of a chat.
func (p PublicPage) forChat() PublicPage {
	p = p.withSheet("chat.css")
	p.Chat = true
	return p
}

// open reports whether the settings start unfolded, because they are required or have errors.
func (c ChatPage) open() bool {
	return slices.ContainsFunc(c.Fields, func(f FormField) bool { return f.Error != "" || !f.Optional && f.Type != "boolean" && f.Value == "" })
}

func (c ChatPage) send() string { return cmp.Or(c.Button, "Send") }

// data returns the data attributes that configure the script.
func (c ChatPage) data() templ.Attributes {
	return templ.Attributes{
		"data-flow": c.FlowID, "data-name": c.Name, "data-most-pictures": strconv.Itoa(c.MostPictures), "data-most-file": strconv.FormatInt(c.MostFile, 10),
	}
}

// privacy says where the conversation is stored.
func (c ChatPage) privacy() string {
	if c.Kept {
		return "The owner of this page keeps conversations."
	}
	return "This conversation is kept only in this browser."
}
