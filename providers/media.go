package providers

import "io"

// EmbedRequest requests one vector per text.
type EmbedRequest struct {
	Model      string
	Texts      []string
	Dimensions int // 0: the model's default
}

// EmbedResult holds the vectors in the order of the texts.
type EmbedResult struct {
	Vectors [][]float64
	Usage   Usage
}

// ImageRequest requests images, generated from a prompt or by editing others.
type ImageRequest struct {
	Model      string
	Prompt     string
	Images     []Media // to edit; empty: generate
	Mask       *Media
	Size       string // such as 1024x1024; empty: the model's default
	Quality    string
	Background string
	Format     string // png, jpeg, webp; empty: the model's default
	Count      int    // default 1
	Key        string
}

// ImageResult holds the images in order.
type ImageResult struct {
	Images []Blob
	Usage  Usage
}

// SpeechRequest requests speech for a text.
type SpeechRequest struct {
	Model        string
	Text         string
	Voice        string
	Instructions string
	Format       string  // mp3, wav, opus, flac, aac; default mp3
	Speed        float64 // 0: the model's default
	Key          string
}

// TranscribeRequest requests the text of a recording.
type TranscribeRequest struct {
	Model    string
	Audio    Media
	Language string // ISO 639-1; empty: detected
	Prompt   string // hints for the model, such as names
	Key      string
}

// TranscribeResult is the transcript of a recording.
type TranscribeResult struct {
	Text     string
	Language string // "" if the provider does not report it
	Seconds  float64
	Usage    Usage
}

// Blob is content that a model generated. Body can be read once and must be closed. It
// streams, and returns an *Error if the content exceeds its limit.
type Blob struct {
	MIME string
	Body io.ReadCloser
}
