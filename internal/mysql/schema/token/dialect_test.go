package token

import (
	"strings"
	"testing"
)

// The servers whose answers are known.
var (
	mysql97     = Of("", false, 9, 7, 4)
	mysql80     = Of("STRICT_TRANS_TABLES", false, 8, 0, 12)
	mysql57     = Of("", false, 5, 7, 22)
	mariaDB     = Of("", true, 10, 11, 18)
	mariaDB118  = Of("", true, 11, 8, 9)
	ansi97      = Of("REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI", false, 9, 7, 4)
	noEscapes   = Of("NO_BACKSLASH_ESCAPES", false, 9, 7, 4)
	ansiLiteral = Of("ANSI_QUOTES,NO_BACKSLASH_ESCAPES", true, 11, 8, 9)
)

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		dialect    Dialect
		text, want string
	}{
		{mysql97, "a `b``c` 'd''e' 'f\\'g'", "a `b``c` 'd''e' 'f\\'g'"},
		{mysql97, `"a""b" "it's" "\"" "\\"`, `'a"b' 'it''s' '\"' '\\'`},
		{mysql97, `'a'"b" x"41" x'41' N'a' _latin1"b"`, `'a' 'b' x '41' x'41' N'a' _latin1 'b'`},
		{mysql97, "a -- b\nc --d # e\n/* ' \n */f", "a  \nc --d  \n \nf"},
		{mysql97, "'-- a' '/* b */' '# c'", "'-- a' '/* b */' '# c'"},
		{ansi97, `"a""b" "c` + "`" + `d" 'e' "f\" "g"."h"`, "`a\"b` `c``d` 'e' `f\\` `g`.`h`"},
		{ansi97, "`a`\"b\"c\"d\"", "`a` `b`c `d`"},
		{noEscapes, `'end\' "a\" '\''' "'"`, `'end\\' 'a\\' '\\''' ''''`},
		{ansiLiteral, `'end\' "a\" ` + "`b\\`", `'end\\' ` + "`a\\` `b\\`"},

		// TestL11_StatementsReadAsTheServerReadsThem asked each server what it runs.
		{mysql57, "1 /*!50722 +1*/ /*!50723 +2*/ /*!800120+4*/", "1   +1     "},
		{mysql80, "/*!80012 a*/ /*!80013 b*/ /*!080000 c*/ /*M! d*/", "  a     0 c   "},
		{mysql97, "/*!90704 a*/ /*!080000 b*/ /*!100000 c*/ /*!500001+d*/", "  a    b     1+d "},
		{mariaDB, "/*!50699 a*/ /*!50700 b*/ /*!99999 c*/ /*!101118 d*/ /*!101119 e*/", "  a        d   "},
		{mariaDB, "/*M! a*/ /*M!80000 b*/ /*M!101118 c*/ /*M!110809 d*/ /*m! e*/", "  a    b    c     "},
		{mariaDB118, "/*!110809 a*/ /*!080000 b*/", "  a   "},
		{mysql97, "a /*!99999 /* ' */ b */ c", "a   c"},
		{mysql97, "a /*!50000 b /* ' */ c */ d", "a   b   c   d"},
		{mysql97, "a /*!50000 b /*!99999 ' */ c */ d", "a   b   c   d"},
		{mysql97, "a /*!50000 '*/' # */\n */ b", "a   '*/'  \n   b"},
		{mysql97, "a /*+ b */ /*!*/ c", "a      c"},
		{mysql97, "a --/* b */c", "a  - - c"},
		{Of("", false, 8, 4, 3), "a /*!080000 b*/ c", "a /*!080000 b*/ c"},
		{Dialect{}, "a /*!50000 \"b\"*/ /* c */", "a /*!50000 'b'*/  "},
	} {
		got, closed := c.dialect.Resolve(c.text)
		if !closed || got != c.want {
			t.Errorf("%+v\n%q:\n%q (%v), want\n%q", c.dialect, c.text, got, closed, c.want)
		}
	}
	for _, text := range []string{"'a", "\"a", "`a", "/* a", "/*!99999 /* a */", "/*!50000 a", "/*!/ a", "'a\\'"} {
		if _, closed := mysql97.Resolve(text); closed {
			t.Errorf("%q counts as closed", text)
		}
	}
}

// FuzzResolve: a resolved text reads the same in every dialect, and is not changed again.
func FuzzResolve(f *testing.F) {
	for _, text := range []string{"", "a \"b\" 'c\\' d", "/*!50000 a /* b */ */", "`a``b`\"c\"", "'a'\"b\"", "x\"1\"", "/*M!999999 /* */ */ -- \n", "'\\\n'"} {
		f.Add(text, true, false, true, 101106)
		f.Add(text, false, true, false, 80012)
	}
	f.Fuzz(func(t *testing.T, text string, ansi, literal, maria bool, version int) {
		d := Dialect{ANSIQuotes: ansi, NoBackslashEscapes: literal, MariaDB: maria, Version: max(version, 0)}
		once, closed := d.Resolve(text)
		if !closed || strings.Contains(once, "/*!") || strings.Contains(once, "/*M!") {
			return
		}
		tokens, closed := Split(once)
		if !closed {
			t.Fatalf("%q: %q is not closed", text, once)
		}
		for _, token := range tokens {
			if token.Unclosed || token.Executable != 0 || token.Kind == String && once[token.Start] == '"' {
				t.Fatalf("%q: %q has %+v", text, once, token)
			}
		}
		for _, other := range []Dialect{mysql97, mariaDB, ansi97} {
			if twice, closed := other.Resolve(once); !closed || twice != once {
				t.Fatalf("%q:\n%q becomes\n%q", text, once, twice)
			}
		}
		if strings.Count(once, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q: %q has other lines", text, once)
		}
	})
}
