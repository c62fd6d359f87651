package closure

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// kind is the type of a column, as far as the columns of a foreign key must agree on it.
type kind struct {
	// class is equal if the types agree, apart from the collation: "bigint unsigned", "string".
	class string
	// text is the type as a definition has it, without its character set.
	text      string
	charset   string
	collation string

	unsigned, zerofill bool
	args               string // with their parentheses; "" for none
	generated          bool
	// unclear is a word whose meaning the package does not know.
	unclear string
}

// collates reports whether values of the kind have a collation.
func (k kind) collates() bool {
	return k.class == stringClass || strings.HasPrefix(k.class, "enum ") || strings.HasPrefix(k.class, "set ")
}

// agrees reports whether columns of both kinds can be those of a foreign key.
func (k kind) agrees(other kind) bool {
	return k.class == other.class && (!k.collates() || plainName(k.collation) == plainName(other.collation))
}

// plainName is the name of a character set or a collation as new servers have it.
func plainName(name string) string {
	name = strings.ToLower(name)
	if name == "utf8" || strings.HasPrefix(name, "utf8_") {
		return "utf8mb3" + strings.TrimPrefix(name, "utf8")
	}
	return name
}

// String describes the kind for people.
func (k kind) String() string {
	if k.collates() {
		return k.text + " COLLATE " + k.collation
	}
	return k.text
}

const (
	stringClass = "string"
	bytesClass  = "bytes"
)

// spellings are other names of types.
var spellings = map[string]string{
	"integer": "int", "int4": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "middleint": "mediumint", "int8": "bigint",
	"bool": "tinyint", "boolean": "tinyint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "float8": "double", "float4": "float",
	"character": "char", "varcharacter": "varchar",
}

// classes are those of types whose length does not matter.
var classes = map[string]string{
	"char": stringClass, "varchar": stringClass, "tinytext": stringClass, "text": stringClass, "mediumtext": stringClass, "longtext": stringClass,
	"binary": bytesClass, "varbinary": bytesClass, "tinyblob": bytesClass, "blob": bytesClass, "mediumblob": bytesClass, "longblob": bytesClass,
}

// integers are the types whose length in parentheses is only shown.
var integers = []string{"tinyint", "smallint", "mediumint", "int", "bigint", "year"}

// lengths are what types have in parentheses if they have none.
var lengths = map[string]string{"decimal": "(10,0)", "bit": "(1)", "datetime": "", "timestamp": "", "time": ""}

// definition reads a column's definition, as it stands behind the name.
type definition struct {
	text   string
	tokens []token.Token
	at     int
	kind   kind
}

// read reads a definition. rest are the tokens behind the type and its character set.
func read(text string, tokens []token.Token) (k kind, rest []token.Token) {
	if len(tokens) == 0 {
		return kind{unclear: "nothing"}, nil
	}
	d := definition{text: text, tokens: tokens}
	word := d.word()
	for d.attribute() {
		continue
	}
	d.complete(word)
	return d.kind, d.rest()
}

// word reads the name of the type and its parentheses.
func (d *definition) word() (word string) {
	word, d.at = strings.ToLower(d.tokens[0].Text), 1
	if plain, other := spellings[word]; other {
		word = plain
	}
	switch {
	case word == "double" && d.is("PRECISION"):
		d.at++
	case word == "real", word == "long", word == "national", word == "nchar", word == "nvarchar", d.tokens[0].Kind != token.Word:
		d.kind.unclear = d.tokens[0].Text
	case word == "serial":
		word, d.kind.unsigned = "bigint", true
	case word == "char" && d.is("VARYING"):
		word = "varchar"
		d.at++
	}
	if d.is("(") {
		end := d.at
		for end < len(d.tokens)-1 && !(d.tokens[end].Is(")") && d.tokens[end].Depth == d.tokens[d.at].Depth) {
			end++
		}
		d.kind.args = token.Plain(d.text, d.tokens[d.at:end+1])
		d.at = end + 1
	}
	return word
}

// is reports whether the next tokens are these keywords.
func (d *definition) is(keywords ...string) bool { return begin(d.tokens[d.at:], keywords...) }

// attribute reads a word that belongs to the type.
func (d *definition) attribute() bool {
	switch {
	case d.is("UNSIGNED"):
		d.kind.unsigned = true
	case d.is("ZEROFILL"):
		d.kind.unsigned, d.kind.zerofill = true, true
	case d.is("SIGNED"):
	case d.is("BINARY"), d.is("BYTE"), d.is("ASCII"), d.is("UNICODE"):
		d.kind.unclear = d.tokens[d.at].Text
	default:
		name, n := charset(d.tokens[d.at:])
		if n == 0 {
			if name, n = collation(d.tokens[d.at:]); n == 0 {
				return false
			}
			d.kind.collation = name
		} else {
			d.kind.charset = name
		}
		d.at += n - 1
	}
	d.at++
	return true
}

// complete fills the class and the text from the name of the type.
func (d *definition) complete(word string) {
	k := &d.kind
	sign := ""
	if k.unsigned {
		sign = " unsigned"
	}
	switch class, known := classes[word]; {
	case known:
		k.class, k.text = class, word+k.args
		if plainName(k.charset) == "binary" && class == stringClass {
			k.unclear = "CHARACTER SET binary"
		}
	case slices.Contains(integers, word):
		k.class, k.text = word+sign, word+sign
	case word == "enum", word == "set":
		tokens, _ := token.Split(k.args)
		k.class, k.text = word+" ", word+k.args
		for _, t := range tokens {
			if t.Kind == token.String {
				k.class += schema.Literal(t.Text)
			}
		}
	default:
		args := strings.ReplaceAll(k.args, " ", "")
		if length, has := lengths[word]; has && (args == "" || args == "(0)") {
			args = length
		} else if word == "decimal" && !strings.Contains(args, ",") {
			args = strings.TrimSuffix(args, ")") + ",0)"
		}
		k.class, k.text = word+args+sign, word+args+sign
	}
}

// rest returns the tokens behind the type, without a COLLATE. It notes what it finds there.
func (d *definition) rest() (rest []token.Token) {
	all := d.tokens[d.at:]
	for i := 0; i < len(all); i++ {
		if all[i].Depth != d.tokens[0].Depth {
			rest = append(rest, all[i])
			continue
		}
		if name, n := collation(all[i:]); n > 0 {
			d.kind.collation = name
			i += n - 1
			continue
		}
		d.kind.generated = d.kind.generated || begin(all[i:], "AS", "(")
		rest = append(rest, all[i])
	}
	return rest
}

// begin reports whether tokens begin with these keywords.
func begin(tokens []token.Token, keywords ...string) bool {
	for i, k := range keywords {
		if i >= len(tokens) || !tokens[i].Is(k) {
			return false
		}
	}
	return true
}

// charset reads CHARACTER SET and its kin at the head of tokens, and returns how many they are; 0 for none.
func charset(tokens []token.Token) (name string, n int) {
	switch {
	case begin(tokens, "CHARACTER", "SET"), begin(tokens, "CHAR", "SET"):
		n = 2
	case begin(tokens, "CHARSET"):
		n = 1
	default:
		return "", 0
	}
	return named(tokens, n)
}

// collation reads COLLATE at the head of tokens.
func collation(tokens []token.Token) (name string, n int) {
	if !begin(tokens, "COLLATE") {
		return "", 0
	}
	return named(tokens, 1)
}

// named reads the name of a character set or a collation, behind n tokens and an optional "=".
func named(tokens []token.Token, n int) (string, int) {
	if begin(tokens[n:], "=") {
		n++
	}
	if n >= len(tokens) || tokens[n].Kind == token.Punct {
		return "", 0
	}
	return tokens[n].Text, n + 1
}

// kindOf is the kind of a table's column.
func kindOf(c schema.Column) kind {
	tokens, _ := token.Split(c.Definition)
	k, _ := read(c.Definition, tokens)
	k.generated = k.generated || c.Generated != schema.NotGenerated
	if k.collates() {
		k.charset, k.collation = c.Charset, c.Collation
	}
	return k
}

// as returns the definition of a column with another type. refused is why it has none.
func as(c schema.Column, k kind) (text, refused string) {
	tokens, closed := token.Split(c.Definition)
	own, rest := read(c.Definition, tokens)
	switch {
	case !closed || own.unclear != "":
		return "", "its definition cannot be read"
	case own.generated || c.Generated != schema.NotGenerated:
		return "", "it is a generated column"
	case own.zerofill && !k.unsigned:
		return "", "it is ZEROFILL, which has no negative values"
	case own.class == k.class:
		text = own.text
	case own.zerofill:
		text = strings.TrimSuffix(k.text, " unsigned") + own.args + " unsigned zerofill"
	default:
		text = k.text
	}
	if k.collates() {
		text += " CHARACTER SET " + k.charset + " COLLATE " + k.collation
	}
	if len(rest) > 0 {
		text += " " + token.Plain(c.Definition, rest)
	}
	return text, ""
}
