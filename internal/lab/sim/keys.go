package sim

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/schema"
)

// kinds are the keys that a table may have.
var kinds = []struct {
	name  string
	parts string // a column each: i int, s collated string, b binary string; upper case descends
}{
	{"int", "i"}, {"int desc", "I"}, {"string", "s"}, {"binary", "b"},
	{"int+string", "is"}, {"string+int", "si"}, {"int+string desc", "iS"}, {"int desc+int", "Ii"},
}

// universe is the finite set of keys that a table of the world can have. The server
// tells keys apart by identity, whose number is its place in the order of the key's
// index; keys of one identity that differ in their bytes, by letter case, are its
// spellings.
type universe struct {
	codec     *key.Codec
	spellings []spelling
	of        [][]int // spellings of each identity
	byKey     map[key.Key]int
	byTuple   map[*any]int // by the tuple's first value

	slots  int     // identities in the shadow, which may have another collation
	holdIn [][]int // the slots that may hold a row of each identity
}

type spelling struct {
	key   key.Key
	first value
	tuple []any // as a row event has it
	id    int
	class int // keys with the same class must go to one worker
	slot  int // identity in the shadow
	rank  int // place in the order of the shadow's key index
}

// value is a key column's value before it is encoded.
type value struct {
	number int64
	text   string
	folded string
}

func newUniverse(o Options, r *rand.Rand) *universe {
	parts := kinds[o.Kind].parts
	u := &universe{byKey: map[key.Key]int{}, byTuple: map[*any]int{}}
	var err error
	if u.codec, err = key.NewCodec(keyParts(parts)); err != nil {
		panic(err)
	}
	for _, identity := range identities(parts, o.IDs, r) {
		id := len(u.of)
		u.of = append(u.of, nil)
		for _, values := range respell(parts, identity, r) {
			u.of[id] = append(u.of[id], len(u.spellings))
			u.add(parts, id, values)
		}
	}
	u.classify()
	u.shadow(o, r)
	return u
}

func keyParts(parts string) []key.Part {
	var list []key.Part
	for i, p := range parts {
		part := key.Part{Descending: p < 'a'}
		switch p | 0x20 {
		case 'i':
			part.Column = schema.Column{DataType: "int", Type: "int"}
		case 's':
			part.Column = schema.Column{DataType: "varchar", Type: "varchar(20)", Charset: "utf8mb4", Collation: "utf8mb4_general_ci"}
		case 'b':
			part.Column = schema.Column{DataType: "varbinary", Type: "varbinary(20)", Charset: "binary"}
		}
		part.Column.Name = fmt.Sprintf("k%d", i)
		list = append(list, part)
	}
	return list
}

// identities draws n keys and sorts them as the server does.
func identities(parts string, n int, r *rand.Rand) [][]value {
	numbers, letters := 4*n+1, "aBcDe"
	if len(parts) > 1 { // several keys begin alike
		numbers, letters = n/3+2, "aB"
	}
	var list [][]value
	compare := func(a, b []value) int { return compareValues(parts, a, b) }
	for len(list) < n {
		identity := make([]value, len(parts))
		for i, p := range parts {
			switch p | 0x20 {
			case 'i':
				identity[i].number = int64(r.IntN(numbers) - numbers/2)
			case 's':
				identity[i] = text(randomText(r, letters, 3))
			case 'b':
				s := randomText(r, "\x00\x01a\xff", 4)
				identity[i] = value{text: s, folded: s}
			}
		}
		if !slices.ContainsFunc(list, func(other []value) bool { return compare(identity, other) == 0 }) {
			list = append(list, identity)
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func text(s string) value { return value{text: s, folded: strings.ToLower(s)} }

func randomText(r *rand.Rand, alphabet string, most int) string {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// compareValues is the order of the key's index.
func compareValues(parts string, a, b []value) int {
	for i, p := range parts {
		c := cmp.Or(cmp.Compare(a[i].number, b[i].number), cmp.Compare(a[i].folded, b[i].folded))
		if p < 'a' {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// respell returns one to three spellings of an identity.
func respell(parts string, identity []value, r *rand.Rand) [][]value {
	list := [][]value{identity}
	for range 2 {
		other := slices.Clone(identity)
		for i, p := range parts {
			if p|0x20 != 's' {
				continue
			}
			b := []byte(other[i].text)
			for j := range b {
				if r.IntN(2) == 0 {
					b[j] ^= 0x20
				}
			}
			other[i] = text(string(b))
		}
		if !slices.ContainsFunc(list, func(v []value) bool { return slices.Equal(v, other) }) {
			list = append(list, other)
		}
	}
	return list
}

// add encodes a key as a row event gives it and as a query gives it, which must be the
// same, and finds it by both.
func (u *universe) add(parts string, id int, values []value) {
	tuple := make([]any, len(values))
	texts := make([][]byte, len(values))
	for i, p := range parts {
		if p|0x20 == 'i' {
			tuple[i], texts[i] = int32(values[i].number), strconv.AppendInt(nil, values[i].number, 10)
			continue
		}
		tuple[i], texts[i] = values[i].text, []byte(hex.EncodeToString([]byte(values[i].text)))
	}
	fromBinlog, err := u.codec.FromBinlog(tuple)
	if err != nil {
		panic(err)
	}
	fromText, err := u.codec.FromText(texts)
	if err != nil || fromText != fromBinlog {
		panic(fmt.Sprintf("key %v: %q from the binlog, %q from a query, error %v", tuple, fromBinlog, fromText, err))
	}
	u.byKey[fromText], u.byTuple[&tuple[0]] = len(u.spellings), len(u.spellings)
	u.spellings = append(u.spellings, spelling{key: fromText, first: values[0], tuple: tuple, id: id})
}

// classify numbers the classes of keys that Partition keeps together, in their order of
// appearance: its own numbers differ from process to process.
func (u *universe) classify() {
	classes := map[int]int{}
	for i := range u.spellings {
		s := &u.spellings[i]
		hash := u.codec.Partition(s.key, math.MaxInt)
		if _, known := classes[hash]; !known {
			classes[hash] = len(classes)
		}
		s.class = classes[hash]
	}
}

// shadow lays out the shadow's key. Where the key changes, letter case counts there if
// it doesn't in the source, and the order is another one.
func (u *universe) shadow(o Options, r *rand.Rand) {
	u.slots = len(u.of)
	u.holdIn = make([][]int, len(u.of))
	ranks := r.Perm(len(u.spellings))
	for i := range u.spellings {
		s := &u.spellings[i]
		s.slot, s.rank = s.id, s.id
		if o.KeyChanged {
			s.rank = ranks[i]
		}
		if o.KeyChanged && len(u.of) < len(u.spellings) {
			s.slot, u.slots = i, len(u.spellings)
		}
		if !slices.Contains(u.holdIn[s.id], s.slot) {
			u.holdIn[s.id] = append(u.holdIn[s.id], s.slot)
		}
	}
}

// bounds returns the identities of a range: from the first up to and without the second.
func (u *universe) bounds(r key.Range) (from, to int) {
	to = len(u.of)
	if r.From != "" {
		from = u.id(r.From)
	}
	if r.To != "" {
		to = u.id(r.To)
	}
	return from, to
}

func (u *universe) id(k key.Key) int { return u.spellings[u.byKey[k]].id }

func (u *universe) name(s int) string {
	return fmt.Sprintf("%d (%s)", u.spellings[s].id, u.codec.Format(u.spellings[s].key))
}
