package ledger

// Orders is the table of the demo: shop.orders, with a dozen and more column types, one
// unique key and two secondary indexes. The column legacy is not the ledger's.
func Orders() Profile {
	return Profile{
		Name: "orders",
		Columns: []Column{
			{Name: "id", Definition: "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT", From: FromSlot},
			{Name: "number", Definition: "VARCHAR(20) CHARACTER SET ascii NOT NULL", From: FromUnique0, Form: Text,
				Text: orderNumber, Server: "CONCAT('A-', LPAD(HEX(" + scatterSQL() + "), 8, '0'))"},
			plain("customer_id", "INT UNSIGNED NOT NULL", Number, below(1, 250_000)),
			plain("customer", "VARCHAR(60) NOT NULL", Text, customerName),
			plain("city", "VARCHAR(40) CHARACTER SET latin1 DEFAULT NULL", Text, or(city, 20, 3)),
			plain("status", "ENUM('new','paid','packed','shipped','returned','cancelled') NOT NULL", Text,
				oneOf(4, "new", "paid", "packed", "shipped", "returned", "cancelled")),
			plain("flags", "SET('gift','express','insured','fragile') NOT NULL", Text, setOf(5, "gift", "express", "insured", "fragile")),
			plain("amount", "DECIMAL(12,2) NOT NULL", Number, decimal(6, 1_000_000_000, 2)),
			plain("weight", "DOUBLE DEFAULT NULL", Number, or(eighths, 10, 7)),
			plain("quantity", "TINYINT NOT NULL", Number, decimal(8, 127, 0)),
			plain("priority", "SMALLINT UNSIGNED NOT NULL", Number, below(9, 65536)),
			plain("options", "BIT(8) NOT NULL", Bits, below(10, 256)),
			plain("model", "YEAR NOT NULL", Number, year),
			plain("due", "DATE DEFAULT NULL", Time, or(day, 15, 11)),
			plain("created", "DATETIME(6) NOT NULL", Time, moment),
			plain("changed", "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP", Time, second),
			plain("token", "VARBINARY(24) NOT NULL", Bytes, token),
			wide("details", "JSON DEFAULT NULL", Text, or(document, 12, 1)),
			wide("remark", "TEXT", Text, remark),
			plain("version", "INT UNSIGNED NOT NULL", Number, itself),
		},
		Extra: []string{"`legacy` SMALLINT NOT NULL DEFAULT 7"},
		Key:   []string{"id"},
		Keys:  []string{"PRIMARY KEY (`id`)"},
		Indexes: []string{
			"UNIQUE KEY `number` (`number`)",
			"KEY `customer` (`customer_id`, `created`)",
			"KEY `status` (`status`, `changed`)",
		},
		Tail: "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
	}
}

// orderNumber is scattered: neighbours in id are far apart in the index.
func orderNumber(dst []byte, n uint64) ([]byte, bool) {
	return appendHex32(append(dst, "A-"...), scatter(uint32(n))), true
}

var firstNames = []string{
	"Anna", "Jürgen", "Zoë", "Łukasz", "Σοφία", "Дмитрий", "田中", "민준", "Ayşe", "Sinéad", "😀 Bob", "O'Neil", `back\slash`,
}

func customerName(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 2)
	dst = append(dst, firstNames[h%uint64(len(firstNames))]...)
	dst = append(dst, ' ')
	dst = appendUint(dst, h>>40)
	switch h >> 16 % 16 {
	case 0:
		dst = append(dst, " 🚀"...)
	case 1:
		dst = append(dst, "  "...) // trailing spaces are part of the value
	}
	return dst, true
}

var cities = []string{"München", "Köln", "Zürich", "Berlin", "Århus", "Málaga", "Besançon", "", "Oslo "}

func city(dst []byte, n uint64) ([]byte, bool) {
	return append(dst, cities[hash(n, 3)%uint64(len(cities))]...), true
}

// token is bytes of any value, often with zeros at the end.
func token(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 16)
	for i := range 4 + h%12 {
		dst = append(dst, byte(h>>(8*(i%8))))
	}
	for range h >> 60 % 4 {
		dst = append(dst, 0)
	}
	return dst, true
}

// document is JSON in the form in which the server prints it: keys by length, then by
// bytes.
func document(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 17)
	dst = appendUint(append(dst, `{"n": `...), n)
	if h>>20%2 == 0 {
		dst = append(dst, `, "gift": null, "tags": [`...)
	} else {
		dst = append(dst, `, "gift": {"für": "Zoë 😀"}, "tags": [`...)
	}
	for i := range h % 4 {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendUint(append(dst, `"tag`...), h>>8%100+i)
		dst = append(dst, '"')
	}
	return append(appendUint(append(dst, `], "price": `...), h>>30%100_000), '}'), true
}

// remark is a text of up to some hundred bytes. It names what it was made from: an
// update of the wide columns always changes the row.
func remark(dst []byte, n uint64) ([]byte, bool) {
	h := hash(n, 18)
	dst = append(appendUint(dst, n), ':')
	for range h % 12 {
		h = mix(h)
		dst = append(append(dst, ' '), words[h%uint64(len(words))]...)
	}
	return dst, true
}

var words = []string{
	"please", "deliver", "after", "six", "nach", "hinten", "straße", "naïve", "🎁", "fragile", "\"quoted\"", "it's", "tab\there",
	"line\nbreak", "end ",
}
