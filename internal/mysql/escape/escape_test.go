package escape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "shop.orders": "shop.orders", "лавка.größe 中文 é ॐ": "лавка.größe 中文 é ॐ", `a\b"c'd`: `a\b"c'd`,
		"naïve e\u0301": "naïve e\u0301", "\U0001F600 \U0001F468\u200d\U0001F469": "\U0001F600 \U0001F468\u200d\U0001F469", "می\u200cخواهم": "می\u200cخواهم",
		"全角\u3000blank\u00a0kept": "全角\u3000blank\u00a0kept",
		"\x1b]0;owned\a":          `\u001b]0;owned\u0007`, "a\nb\r\tc\x00d\x7f": `a\nb\r\tc\u0000d\u007f`,
		"\u009b31m \u0085 \u2028 \u2029":                                    `\u009b31m \u0085 \u2028 \u2029`,
		"\u202eevil\u202c \u2066x\u2069 \u200f \u061c \ufeff \u200b \u00ad": `\u202eevil\u202c \u2066x\u2069 \u200f \u061c \ufeff \u200b \u00ad`,
		"\U000E0041": `\udb40\udc41`, "\xff\xc3": `\xff\xc3`, "\ufffd": "\ufffd", "\ue000": `\ue000`,
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) is %s instead of %s", text, got, want)
		}
	}
	if got := Text("a\n\tb\x1b"); got != "a\n\tb\\u001b" {
		t.Errorf("Text is %q", got)
	}
	if got := Lines("a\r\nb\rc", "  "); got != "a\n  b\\rc" {
		t.Errorf("Lines is %q", got)
	}
}

// A JSON text that goes through the writer has the same value.
func TestWriterKeepsJSON(t *testing.T) {
	value := "\x1b]0;\a \u009b \u202e \U000E0041 \u2028 中文 é \ufeff \\u001b"
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := Writer(&out)
	for _, b := range text { // byte by byte: characters are split
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	var read string
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read != value {
		t.Errorf("%s is read as %q, %v", out.String(), read, err)
	}
	if strings.ContainsAny(out.String(), "\u009b\u202e\U000E0041\ufeff") || !strings.Contains(out.String(), "中文 é") {
		t.Errorf("it writes %s", out.String())
	}
}

func TestWriterEscapes(t *testing.T) {
	var out bytes.Buffer
	if _, err := Writer(&out).Write([]byte("a\n\x1b[31m\xffb\n")); err != nil || out.String() != "a\n\\u001b[31m\\xffb\n" {
		t.Errorf("it writes %q, %v", out.String(), err)
	}
}

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"plain é": "plain é", "a|b`c<script>": "a\\|b\\`c&lt;script>", "[x](http://e)": `\[x\](http://e)`, "- a": `\- a`, "# a": `\# a`, "a # b > c": "a # b > c",
		"a\n\n# b": `a\\n\\n# b`, "&lt; &#60; a & b": "&amp;lt; &amp;#60; a & b", "![x]": `!\[x\]`, "order_items": "order_items", "_a_ b__c": `\_a\_ b\_\_c`, "> q": `\> q`,
	} {
		if got := Markdown(text); got != want {
			t.Errorf("Markdown(%q) is %s instead of %s", text, got, want)
		}
	}
	if got := Block("a\n```\nb\x1b\n"); got != "````\na\n```\nb\\u001b\n````" {
		t.Errorf("Block is %q", got)
	}
}

func TestArgs(t *testing.T) {
	args := Args("a\nb", Ours("a\nb"), 7, 1.5, errorString("c\nd"))
	if args[0] != `a\nb` || args[1] != "a\nb" || args[2] != 7 || args[3] != 1.5 || args[4] != `c\nd` {
		t.Errorf("%q", args)
	}
}

type errorString string

func (e errorString) Error() string { return string(e) }

func TestError(t *testing.T) {
	err := fmt.Errorf("drop t: %w", errors.Join(errors.New("a\nb"), fmt.Errorf("c: %w", errors.Join(errors.New("d"), errors.New("e\x1b")))))
	if got := Error(err); got != `drop t: a\nb; c: d; e\u001b` {
		t.Errorf("it is %s", got)
	}
}
