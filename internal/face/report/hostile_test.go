package report

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"midstream/internal/mysql/escape"
	"midstream/internal/ops/history"
	"midstream/internal/ops/record"
)

// obeyed is a text that a terminal, Markdown or a browser would obey, if it could.
const obeyed = "x\x1b]0;owned\x07\r\n\n# FORGED\n| FORGED |\n</code></pre><script>alert(1)</script><img src=x>\u009b31m\u202e`y` **bold** [link](http://e.test) &lt;b&gt; 中文 é"

// fill sets every string that is empty, or is there, to a text.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Head" && name != "At" && v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Interface:
		if !v.IsNil() {
			filled := reflect.New(v.Elem().Type()).Elem()
			filled.Set(v.Elem())
			fill(filled, text)
			v.Set(filled)
		}
	case reflect.String:
		v.SetString(text)
	}
}

// hostileReport is a report of which every text is from others.
func hostileReport() *Report {
	s := story(10)
	s.Earlier = []history.Entry{{Run: s.Run}}
	s.Result.Error, s.Result.Left, s.Result.Next = "e", "l", "n"
	fill(reflect.ValueOf(s), obeyed)
	return Of(s)
}

var fenced = regexp.MustCompile("(?ms)^(`{3,})\n.*?^(`{3,})$")

// TestL9_NoTextIsObeyedInAReport: a report has no tag, no line, no mark of Markdown and no sequence
// for a terminal that came from others.
func TestL9_NoTextIsObeyedInAReport(t *testing.T) {
	r := hostileReport()
	html, markdown, text := written(t, r.HTML), written(t, r.Markdown), written(t, r.JSON)
	for form, text := range map[string]string{"html": html, "markdown": markdown, "json": text} {
		if escape.Text(text) != text {
			t.Errorf("%s has what a terminal would obey", form)
		}
		if !strings.Contains(text, "中文 é") {
			t.Errorf("%s has lost letters", form)
		}
	}
	for _, tag := range []string{"<script>alert", "<img"} {
		if strings.Contains(html, tag) {
			t.Errorf("html has %s", tag)
		}
	}
	outside := fenced.ReplaceAllString(markdown, "")
	for _, mark := range []string{"<script", "<img", "</code", "\n# FORGED", "\n| FORGED", "**bold", "[link](", " &lt;b"} {
		if at := strings.Index(outside, mark); at >= 0 {
			t.Errorf("markdown has %q: %s", mark, outside[max(0, at-100):at+30])
		}
	}
	var read struct {
		Run record.Run `json:"run"`
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil || read.Run.User != obeyed {
		t.Errorf("json has %q, %v", read.Run.User, err)
	}
}
