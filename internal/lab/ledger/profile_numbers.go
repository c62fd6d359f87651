package ledger

// Int has a plain integer as its primary key, and one unique key.
func Int() Profile {
	return keyed("int", []Column{
		{Name: "id", Definition: "INT NOT NULL", From: FromSlot},
		codeColumn("NOT NULL"),
	}, []string{"id"}, []string{"PRIMARY KEY (`id`)"}, "UNIQUE KEY `code` (`code`)")
}

// BigUnsigned has a key above 2^63, downwards from the end of the type.
func BigUnsigned() Profile {
	return keyed("bigunsigned", []Column{
		slotColumn(),
		keyPart("id", "BIGINT UNSIGNED NOT NULL", Number, func(dst []byte, n uint64) ([]byte, bool) {
			return appendUint(dst, ^(n & slotBits)), true
		}),
		codeColumn("DEFAULT NULL"),
	}, []string{"id"}, []string{"PRIMARY KEY (`id`)"}, "UNIQUE KEY `code` (`code`)")
}

// slotBits are those of a key's number that hold the slot.
const slotBits = 1<<32 - 1

// Decimal has a DECIMAL key, of both signs, whose order is not that of the slots.
func Decimal() Profile {
	return keyed("decimal", []Column{
		slotColumn(),
		keyPart("price", "DECIMAL(20,6) NOT NULL", Number, func(dst []byte, n uint64) ([]byte, bool) {
			units := int64(n&slotBits)*1001 + 1
			if n&1 == 1 {
				units = -units
			}
			return appendDecimal(dst, units, 6), true
		}),
		codeColumn("NOT NULL"),
	}, []string{"price"}, []string{"PRIMARY KEY (`price`)"}, "UNIQUE KEY `code` (`code`)")
}

// Datetime has a DATETIME(6) key.
func Datetime() Profile {
	return keyed("datetime", []Column{
		slotColumn(),
		keyPart("at", "DATETIME(6) NOT NULL", Time, slotMoment),
		codeColumn("NOT NULL"),
	}, []string{"at"}, []string{"PRIMARY KEY (`at`)"}, "UNIQUE KEY `code` (`code`)")
}

// slotMoment is another moment for each slot, in their order.
func slotMoment(dst []byte, n uint64) ([]byte, bool) {
	slot := n & slotBits
	return appendTime(dst, slot/5000, slot%5000*17, slot*7_919), true
}

// IntIntDatetime has a key of three columns.
func IntIntDatetime() Profile {
	return keyed("intintdatetime", []Column{
		slotColumn(),
		keyPart("region", "SMALLINT NOT NULL", Number, func(dst []byte, n uint64) ([]byte, bool) {
			return appendDecimal(dst, int64(n&slotBits%7)-3, 0), true
		}),
		keyPart("shop", "INT NOT NULL", Number, func(dst []byte, n uint64) ([]byte, bool) {
			return appendDecimal(dst, int64(n&slotBits%50)*1_000_000-25_000_000, 0), true
		}),
		keyPart("at", "DATETIME NOT NULL", Time, func(dst []byte, n uint64) ([]byte, bool) {
			slot := n & slotBits
			return appendClock(appendDay(dst, slot/7%4), slot/28), true
		}),
	}, []string{"region", "shop", "at"}, []string{"PRIMARY KEY (`region`, `shop`, `at`)"})
}

// EnumInt has a key that begins with an ENUM, whose members are not in the order of
// their names.
func EnumInt() Profile {
	members := []string{"zeta", "alpha", "Mid", "beta", "ärger"}
	return keyed("enumint", []Column{
		slotColumn(),
		keyPart("kind", "ENUM('zeta','alpha','Mid','beta','ärger') NOT NULL", Text, func(dst []byte, n uint64) ([]byte, bool) {
			return append(dst, members[n&slotBits%5]...), true
		}),
		keyPart("number", "INT NOT NULL", Number, func(dst []byte, n uint64) ([]byte, bool) {
			return appendDecimal(dst, 1000-int64(n&slotBits/5), 0), true
		}),
		codeColumn("NOT NULL"),
	}, []string{"kind", "number"}, []string{"PRIMARY KEY (`kind`, `number`)"}, "UNIQUE KEY `code` (`code`)")
}

// ThreeUnique has three unique keys beside its primary key: a collated string, a
// number that may be NULL, and one of two columns.
func ThreeUnique() Profile {
	return keyed("threeunique", []Column{
		{Name: "id", Definition: "INT UNSIGNED NOT NULL", From: FromSlot},
		{
			Name: "email", Definition: "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
			From: FromUnique0, Form: Text,
			Text: func(dst []byte, n uint64) ([]byte, bool) { return append(appendWord(dst, n), "@example.com"...), true },
		},
		{
			Name: "badge", Definition: "BIGINT DEFAULT NULL", From: FromUnique1, Form: Number,
			Text: func(dst []byte, n uint64) ([]byte, bool) {
				return appendDecimal(dst, int64(scatter(uint32(n)))-1<<31, 0), true
			},
		},
		{
			Name: "room", Definition: "SMALLINT UNSIGNED NOT NULL", From: FromUnique2, Form: Number,
			Text: func(dst []byte, n uint64) ([]byte, bool) { return appendUint(dst, n%1000), true },
		},
		{
			Name: "seat", Definition: "BINARY(4) NOT NULL", From: FromUnique2, Form: Bytes,
			Text: func(dst []byte, n uint64) ([]byte, bool) {
				seat := uint32(n / 1000)
				return append(dst, byte(seat), byte(seat>>8), byte(seat>>16), 0), true
			},
		},
	}, []string{"id"}, []string{"PRIMARY KEY (`id`)"},
		"UNIQUE KEY `email` (`email`)", "UNIQUE KEY `badge` (`badge`)", "UNIQUE KEY `place` (`room`, `seat`)")
}
