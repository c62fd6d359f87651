package ledger

// letters write a number as a word; the vowels have accents in some spellings.
const letters = "aeioubcdfghjklmnprst"

// appendWord appends another word for each 32-bit number, not in their order.
func appendWord(dst []byte, n uint64) []byte {
	dst = append(dst, 'a')
	for left := scatter(uint32(n)); left > 0; left /= 20 {
		dst = append(dst, letters[left%20])
	}
	return dst
}

// Ways to spell a key that collations without case and accents take for equal.
const (
	lower uint64 = iota
	upper
	accented
	upperAccented

	trailingSpace = 4 // where the collation pads
	padSpellings  = 5

	sharpS      = 4 // for "ss", and
	softHyphen  = 5 // a character without weight, in collations of the UCA
	ucaSpelling = 6
)

var accents = map[byte]string{'a': "á", 'e': "é", 'i': "í", 'o': "ó", 'u': "ú"}
var upperAccents = map[byte]string{'a': "Á", 'e': "É", 'i': "Í", 'o': "Ó", 'u': "Ú"}

// appendSpelled appends a word in one of the first four spellings.
func appendSpelled(dst, word []byte, spelling uint64) []byte {
	for _, b := range word {
		accent, isVowel := accents[b]
		switch {
		case spelling == accented && isVowel:
			dst = append(dst, accent...)
		case spelling == upperAccented && isVowel:
			dst = append(dst, upperAccents[b]...)
		case spelling == upper || spelling == upperAccented:
			dst = append(dst, b-'a'+'A')
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

func stringProfile(name, definition string, spellings int, text maker) Profile {
	p := keyed(name, []Column{
		slotColumn(),
		keyPart("word", definition, Text, text),
		codeColumn("NOT NULL"),
	}, []string{"word"}, []string{"PRIMARY KEY (`word`)"}, "UNIQUE KEY `code` (`code`)")
	p.Spellings = spellings
	return p
}

// StringAI has a string key that ignores case and accents and does not pad.
func StringAI() Profile {
	return stringProfile("stringai", "VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL", ucaSpelling,
		func(dst []byte, n uint64) ([]byte, bool) {
			var buffer [16]byte
			word, spelling := appendWord(buffer[:0], n&slotBits), n>>32
			switch spelling {
			case sharpS:
				return append(append(dst, word...), "ß"...), true
			case softHyphen:
				return append(append(dst, word...), "s\u00ads"...), true
			}
			return appendSpelled(dst, append(word, "ss"...), spelling), true
		})
}

// StringPad has a string key that ignores case, accents and spaces at the end.
func StringPad() Profile {
	return stringProfile("stringpad", "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL", padSpellings,
		padded)
}

// StringLatin1 is the same in latin1.
func StringLatin1() Profile {
	return stringProfile("stringlatin1", "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL", padSpellings,
		padded)
}

func padded(dst []byte, n uint64) ([]byte, bool) {
	var buffer [16]byte
	word, spelling := appendWord(buffer[:0], n&slotBits), n>>32
	dst = appendSpelled(dst, word, spelling)
	if spelling == trailingSpace {
		dst = append(dst, "  "...)
	}
	return dst, true
}

// Composite has a key of a number and a string whose collation is binary: words that
// differ in case are different keys.
func Composite() Profile {
	return keyed("composite", []Column{
		slotColumn(),
		keyPart("part", "INT NOT NULL", Number, func(dst []byte, n uint64) ([]byte, bool) {
			return appendDecimal(dst, int64(n&slotBits%100)-50, 0), true
		}),
		keyPart("word", "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", Text, func(dst []byte, n uint64) ([]byte, bool) {
			var buffer [16]byte
			number := n & slotBits / 100
			return appendSpelled(dst, appendWord(buffer[:0], number/4), number%4), true
		}),
		codeColumn("NOT NULL"),
	}, []string{"part", "word"}, []string{"PRIMARY KEY (`part`, `word`)"}, "UNIQUE KEY `code` (`code`)")
}

// Binary16 has a BINARY(16) key, often with zeros at the end.
func Binary16() Profile {
	return keyed("binary16", []Column{
		slotColumn(),
		keyPart("uuid", "BINARY(16) NOT NULL", Bytes, func(dst []byte, n uint64) ([]byte, bool) {
			from := len(dst)
			dst = appendBytes(dst, scatter(uint32(n)))
			for range n % 4 {
				dst = appendBytes(dst, uint32(mix(n&slotBits)))
			}
			for len(dst) < from+16 {
				dst = append(dst, 0)
			}
			return dst, true
		}),
		codeColumn("NOT NULL"),
	}, []string{"uuid"}, []string{"PRIMARY KEY (`uuid`)"}, "UNIQUE KEY `code` (`code`)")
}

func appendBytes(dst []byte, n uint32) []byte {
	return append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// Varbinary has a VARBINARY key; keys that differ in zeros at the end are different.
func Varbinary() Profile {
	return keyed("varbinary", []Column{
		slotColumn(),
		keyPart("hash", "VARBINARY(20) NOT NULL", Bytes, trailingZeros),
		codeColumn("NOT NULL"),
	}, []string{"hash"}, []string{"PRIMARY KEY (`hash`)"}, "UNIQUE KEY `code` (`code`)")
}

func trailingZeros(dst []byte, n uint64) ([]byte, bool) {
	slot := n & slotBits
	dst = appendBytes(dst, scatter(uint32(slot/4)))
	for range slot % 4 {
		dst = append(dst, 0)
	}
	return dst, true
}

// NoPrimary has no primary key and two unique keys that are not NULL; rows are found by
// the second of them.
func NoPrimary() Profile {
	return keyed("noprimary", []Column{
		slotColumn(),
		keyPart("hash", "VARBINARY(20) NOT NULL", Bytes, trailingZeros),
		codeColumn("DEFAULT NULL"),
	}, []string{"hash"}, []string{"UNIQUE KEY `number` (`slot`)", "UNIQUE KEY `hash` (`hash`)"}, "UNIQUE KEY `code` (`code`)")
}
