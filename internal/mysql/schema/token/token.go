package token

import (
	"strings"
	"unicode/utf8"
)

// Kind tells tokens apart.
type Kind int

// The kinds of token.
const (
	Word   Kind = iota // an unquoted identifier, keyword or number
	Quoted             // an identifier in backticks
	String             // a literal in ' or "; which of them is text[Start]
	Punct              // one character of anything else
)

// Token is one token of a text.
type Token struct {
	Kind       Kind
	Text       string // of Quoted and String: the content, unescaped; else verbatim
	Start, End int    // bytes in the text that was split
	Depth      int    // of parentheses around it; a parenthesis has the depth of what is outside
	Unclosed   bool   // its quote never ends
	// Executable is 0, or the version of the executable comment around the token:
	// 50503 for /*!50503 ... */, 1 for /*! ... */ and at least 100000 for MariaDB's
	// /*M! ... */.
	Executable int
	// CommentStart and CommentEnd are the bytes of that comment; without one they are
	// the token's own.
	CommentStart, CommentEnd int
}

// ExecutedByAll is the version up to which every supported server executes executable comments.
const ExecutedByAll = 50700

// Is says that the token is this keyword (given in upper case), unquoted, or this
// punctuation.
func (t Token) Is(keyword string) bool {
	switch t.Kind {
	case Word:
		return strings.EqualFold(t.Text, keyword)
	case Punct:
		return t.Text == keyword
	}
	return false
}

// Name says that the token can be an identifier.
func (t Token) Name() bool { return t.Kind == Word || t.Kind == Quoted }

// Split returns the tokens of a text; comments are left out. An error of the text
// that hides code (a comment or an executable comment that isn't closed) makes
// closed false.
func Split(text string) (tokens []Token, closed bool) {
	return split(splitter{text: text, escape: '\\', closed: true})
}

// SplitNoEscapes is Split for a session with the sql_mode NO_BACKSLASH_ESCAPES.
func SplitNoEscapes(text string) (tokens []Token, closed bool) {
	return split(splitter{text: text, closed: true})
}

func split(s splitter) (tokens []Token, closed bool) {
	for s.skip() {
		s.next()
	}
	return s.tokens, s.closed && s.executable == 0
}

type splitter struct {
	text       string
	escape     byte // in string literals; 0 for none
	pos        int
	depth      int
	executable int
	opened     int // where the executable comment begins
	first      int // its first token
	tokens     []Token
	closed     bool
}

// skip goes over blanks and comments; it says whether a token follows.
func (s *splitter) skip() bool {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case blank(rest[0]):
			s.pos++
		case rest[0] == '#', lineComment(rest):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				s.pos += i + 1
			} else {
				s.pos = len(s.text)
			}
		case s.executable != 0 && strings.HasPrefix(rest, "*/"):
			s.executable = 0
			s.pos += 2
			for i := s.first; i < len(s.tokens); i++ {
				s.tokens[i].CommentEnd = s.pos
			}
		case strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!"):
			s.open(rest)
		case strings.HasPrefix(rest, "/*"):
			if i := strings.Index(rest[2:], "*/"); i >= 0 {
				s.pos += 2 + i + 2
			} else {
				s.pos, s.closed = len(s.text), false
			}
		default:
			return true
		}
	}
	return false
}

// open enters an executable comment.
func (s *splitter) open(rest string) {
	n := strings.IndexByte(rest, '!') + 1
	version, digits := 0, 0
	for digits < 6 && n+digits < len(rest) && rest[n+digits] >= '0' && rest[n+digits] <= '9' {
		version = version*10 + int(rest[n+digits]-'0')
		digits++
	}
	if digits < 5 { // fewer digits are no version but code
		version, digits = 0, 0
	}
	if s.executable == 0 {
		s.opened, s.first = s.pos, len(s.tokens)
	}
	s.executable = max(version, 1)
	if rest[2] == 'M' {
		s.executable = max(version, 100000)
	}
	s.pos += n + digits
}

func (s *splitter) next() {
	start := s.pos
	t := Token{Start: start, Depth: s.depth, Executable: s.executable}
	switch c := s.text[start]; {
	case c == '`':
		t.Kind = Quoted
		t.Text, t.Unclosed = s.quoted(c)
	case c == '\'' || c == '"':
		t.Kind = String
		t.Text, t.Unclosed = s.quoted(c)
	case wordByte(c):
		for s.pos < len(s.text) && wordByte(s.text[s.pos]) {
			s.pos++
		}
		t.Kind, t.Text = Word, s.text[start:s.pos]
	default:
		_, n := utf8.DecodeRuneInString(s.text[start:])
		s.pos += n
		t.Kind, t.Text = Punct, s.text[start:s.pos]
		if c == '(' {
			s.depth++
		} else if c == ')' && s.depth > 0 {
			s.depth--
			t.Depth = s.depth
		}
	}
	t.End = s.pos
	t.CommentStart, t.CommentEnd = t.Start, t.End
	if s.executable != 0 {
		t.CommentStart = s.opened
	}
	s.tokens = append(s.tokens, t)
}

// quoted reads what stands in quotes: a doubled quote is one; in a string a
// backslash escapes.
func (s *splitter) quoted(quote byte) (content string, unclosed bool) {
	var b strings.Builder
	s.pos++
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case c == quote && s.pos+1 < len(s.text) && s.text[s.pos+1] == quote:
			b.WriteByte(quote)
			s.pos += 2
		case c == quote:
			s.pos++
			return b.String(), false
		case s.escape != 0 && c == s.escape && quote != '`' && s.pos+1 < len(s.text):
			b.WriteString(unescape(s.text[s.pos+1]))
			s.pos += 2
		default:
			b.WriteByte(c)
			s.pos++
		}
	}
	return b.String(), true
}

// unescape returns what a backslash and c stand for.
func unescape(c byte) string {
	switch c {
	case '0':
		return "\x00"
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case 'b':
		return "\b"
	case 'Z':
		return "\x1a"
	case '%', '_': // these keep their backslash
		return "\\" + string(c)
	}
	return string([]byte{c})
}

func blank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}

// lineComment says that "--" begins a comment: a blank, a control character or
// the end must follow.
func lineComment(rest string) bool {
	return strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' ' || rest[2] == 0x7f)
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '$' || c >= 0x80
}

// Unmatched returns the number of the first token that closes a parenthesis which none opens, len(tokens) if a parenthesis is not
// closed, and -1 if all match.
func Unmatched(tokens []Token) int {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")") && depth == 0:
			return i
		case t.Is(")"):
			depth--
		}
	}
	if depth > 0 {
		return len(tokens)
	}
	return -1
}

// List cuts tokens at the commas that stand as deep as the first of them.
func List(tokens []Token) [][]Token {
	var pieces [][]Token
	if len(tokens) == 0 {
		return nil
	}
	depth := tokens[0].Depth
	start := 0
	for i, t := range tokens {
		if t.Is(",") && t.Depth == depth {
			pieces = append(pieces, tokens[start:i])
			start = i + 1
		}
	}
	return append(pieces, tokens[start:])
}

// Plain writes tokens of a text without comments: what executable ones hold stays. Tokens that
// touch go on touching.
func Plain(text string, tokens []Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && tokens[i-1].End < t.Start {
			b.WriteByte(' ')
		}
		b.WriteString(text[t.Start:t.End])
	}
	return b.String()
}

// Unquote returns the content of a string literal that the server printed, such
// as an ENUM's member. It takes text in single quotes only.
func Unquote(literal string) (string, bool) {
	tokens, _ := Split(literal)
	if len(tokens) != 1 || tokens[0].Kind != String || tokens[0].Unclosed {
		return "", false
	}
	return tokens[0].Text, true
}
