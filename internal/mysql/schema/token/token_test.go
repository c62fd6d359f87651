package token

import (
	"fmt"
	"strings"
	"testing"
)

// show writes tokens as kind:text, with @ before tokens of an executable comment.
func show(tokens []Token) string {
	var all []string
	for _, t := range tokens {
		text := fmt.Sprintf("%c:%s", "wqsp"[t.Kind], t.Text)
		if t.Executable != 0 {
			text = fmt.Sprintf("@%d%s", t.Executable, text)
		}
		if t.Unclosed {
			text += "!"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"a b1 $c _d é 12":           "w:a w:b1 w:$c w:_d w:é w:12",
		"a.b":                       "w:a p:. w:b",
		"a,b;(c)":                   "w:a p:, w:b p:; p:( w:c p:)",
		"`a``b` `c d`":              "q:a`b q:c d",
		`'a''b' "c""d"`:             `s:a'b s:c"d`,
		`'a\'b\\' 'c'`:              `s:a'b\ s:c`,
		`'\0\n\r\t\b\Z\x\%'`:        "s:\x00\n\r\t\b\x1ax\\%",
		"`a\\`b":                    `q:a\ w:b`,
		"_utf8mb4'x'":               "w:_utf8mb4 s:x",
		"a -- b\nc":                 "w:a w:c",
		"a --b":                     "w:a p:- p:- w:b",
		"a --":                      "w:a",
		"a # b\nc":                  "w:a w:c",
		"a /* b */ c /**/ d":        "w:a w:c w:d",
		"a /* ' */ b":               "w:a w:b",
		"'/* a */' -- '":            "s:/* a */",
		"a /*! b */ c":              "w:a @1w:b w:c",
		"a /*!50503 b c*/d":         "w:a @50503w:b @50503w:c w:d",
		"a /*!080013 b */":          "w:a @80013w:b",
		"a /*!123 b */":             "w:a @1w:123 @1w:b",
		"/*!50503 a /* b */ c */ d": "@50503w:a @50503w:c w:d",
		"/*M!100100 a */ /*M! b */": "@100100w:a @100000w:b",
		"/*T! a */ /*+ b */ c":      "w:c",
		"a * / b":                   "w:a p:* p:/ w:b",
		"'a":                        "s:a!",
		"`a":                        "q:a!",
		"'a\\":                      `s:a\!`,
		"a\u00a0b":                  "w:a\u00a0b", // the server sees no blank either
		"🙂\x00":                     "w:🙂 p:\x00",
	} {
		tokens, closed := Split(text)
		if got := show(tokens); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
		if !closed {
			t.Errorf("%q: not closed", text)
		}
	}
	for _, text := range []string{"a /* b", "a /*! b", "/*!50000 a /* b */", "/*"} {
		if _, closed := Split(text); closed {
			t.Errorf("%q: closed", text)
		}
	}
	if tokens, _ := SplitNoEscapes(`'a\' 'b'''`); show(tokens) != `s:a\ s:b'` {
		t.Errorf("no escapes: %s", show(tokens))
	}
}

func TestPlaces(t *testing.T) {
	const text = "a /*!50000 (b, /* x */ 'c d') */ `e`"
	tokens, _ := Split(text)
	var places, depths []string
	for _, k := range tokens {
		places = append(places, text[k.Start:k.End])
		depths = append(depths, fmt.Sprint(k.Depth))
	}
	if got := strings.Join(places, "|"); got != "a|(|b|,|'c d'|)|`e`" {
		t.Error(got)
	}
	if got := strings.Join(depths, ""); got != "0011100" {
		t.Error(got)
	}
	if c := text[tokens[1].CommentStart:tokens[5].CommentEnd]; c != "/*!50000 (b, /* x */ 'c d') */" {
		t.Error(c)
	}
	if k := tokens[6]; text[k.CommentStart:k.CommentEnd] != "`e`" {
		t.Errorf("%+v", k)
	}
}

// FuzzSplit holds for any text: tokens don't overlap, and leave out only blanks and comments.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"a `b` 'c' /*! d */ -- e", "/*!50000 a */ (", "'\\", "/*M!1*/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		tokens, _ := Split(text)
		for _, k := range tokens {
			if k.Start < end || k.End <= k.Start || k.End > len(text) || k.CommentStart > k.Start || k.CommentEnd < k.End || k.Depth < 0 {
				t.Fatalf("%+v after %d", k, end)
			}
			gap := strings.TrimSpace(text[end:k.Start])
			if gap != "" && !strings.ContainsAny(gap[:1], "/#-*") && gap[0] > ' ' {
				t.Fatalf("left out %q", gap)
			}
			end = k.End
		}
	})
}
