package forms

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/a-h/templ"
)

// ChatPage is a flow with a conversation as a chat.
type ChatPage struct {
	FormPage
	Name, Text   string // of the field with the message
	FlowID       string
	Pictures     bool   // the visitor may attach pictures
	Picture      string // name of the field with a picture, without scripts
	Accept       string // types of pictures
	MostPictures int    // in a conversation
	MostFile     int64  // bytes of a picture
	Kept         bool   // the owner keeps the conversations
}

// forChat loads the script and the styles of a chat.
func (p PublicPage) forChat() PublicPage {
	p = p.withSheet("chat.css")
	p.Chat = true
	return p
}

// open reports whether the settings must be filled in, or have errors.
func (c ChatPage) open() bool {
	return slices.ContainsFunc(c.Fields, func(f FormField) bool { return f.Error != "" || !f.Optional && f.Type != "boolean" && f.Value == "" })
}

func (c ChatPage) send() string { return cmp.Or(c.Button, "Send") }

// data tells the script about the chat.
func (c ChatPage) data() templ.Attributes {
	return templ.Attributes{
		"data-flow": c.FlowID, "data-name": c.Name, "data-most-pictures": strconv.Itoa(c.MostPictures), "data-most-file": strconv.FormatInt(c.MostFile, 10),
	}
}

// privacy says where the conversation is.
func (c ChatPage) privacy() string {
	if c.Kept {
		return "The owner of this page keeps conversations."
	}
	return "This conversation is kept only in this browser."
}
