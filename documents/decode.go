package documents

import "sluice/documents/charset"

// decoded is a text with what is known about its encoding.
type decoded struct{ charset.Decoded }

// DecodeText converts bytes to valid UTF-8; see charset.Read. warnings say what may be wrong with the text.
func DecodeText(data []byte, contentType, fallback, known string) (text, encoding string, warnings []string) {
	d := decodeText(data, contentType, fallback, known)
	return d.Text, d.Encoding, d.warnings()
}

// decodeText converts bytes to valid UTF-8; see charset.Read. fallback is the media type of data if contentType says nothing.
func decodeText(data []byte, contentType, fallback, known string) decoded {
	return decoded{charset.Read(data, contentType, fallback == "text/html", known)}
}

// CheckEncoding returns an error if there is no encoding with a name.
func CheckEncoding(name string) error {
	_, err := charset.Lookup(name)
	return err
}

// decodeBytes converts bytes from an encoding that exists.
func decodeBytes(name string, data []byte) string {
	e, err := charset.Lookup(name)
	if err != nil {
		return ""
	}
	return e.Decode(data)
}

// describe adds the encoding to a document, with what its readers must know about it.
func (d decoded) describe(out *Document) {
	out.Encoding = d.Encoding
	for _, w := range d.warnings() {
		out.warn("%s", w)
	}
}

// warnings returns what readers must know about the encoding.
func (d decoded) warnings() (list []string) {
	if d.Guessed {
		list = append(list, "The text does not state its encoding. It was read as "+d.Encoding+", which is a guess; if characters are wrong, set Encoding.")
	}
	if d.Damaged {
		list = append(list, "The text has bytes that are invalid in "+d.Encoding+". They were replaced by U+FFFD (�); if characters are wrong, set Encoding.")
	}
	return list
}
