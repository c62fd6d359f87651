package escape

import "strings"

// Error returns the text of an error as a part of one line.
func Error(err error) string { return Line(Sentence(err)) }

// Sentence returns the text of an error, in which errors that were joined stand behind each other
// and not below. It is not escaped.
func Sentence(err error) string {
	text := err.Error()
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var texts, sentences []string
		for _, part := range e.Unwrap() {
			texts, sentences = append(texts, part.Error()), append(sentences, Sentence(part))
		}
		if text == strings.Join(texts, "\n") {
			return strings.Join(sentences, "; ")
		}
		for i := range texts {
			text = strings.Replace(text, texts[i], sentences[i], 1)
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			text = strings.Replace(text, inner.Error(), Sentence(inner), 1)
		}
	}
	return text
}
