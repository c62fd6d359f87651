package ledger

// Profiles returns every kind of table.
func Profiles() []Profile {
	return []Profile{
		Orders(), Int(), ThreeUnique(), NoPrimary(), Composite(), IntIntDatetime(), EnumInt(), StringAI(), StringPad(),
		StringLatin1(), Binary16(), Varbinary(), Decimal(), Datetime(), BigUnsigned(),
	}
}

// plainColumns are columns which every profile but orders has beside its own.
func plainColumns() []Column {
	return []Column{
		plain("amount", "DECIMAL(12,2) NOT NULL", Number, decimal(6, 1_000_000_000, 2)),
		plain("name", "VARCHAR(60) CHARACTER SET utf8mb4 NOT NULL", Text, customerName),
		plain("token", "VARBINARY(24) DEFAULT NULL", Bytes, or(token, 9, 1)),
		plain("changed", "DATETIME(6) NOT NULL", Time, moment),
		plain("version", "INT UNSIGNED NOT NULL", Number, itself),
		wide("remark", "TEXT CHARACTER SET utf8mb4", Text, remark),
		wide("details", "JSON DEFAULT NULL", Text, or(document, 4, 2)),
	}
}

// keyed is a profile with the plain columns added, and with an index on the column
// slot if it has one.
func keyed(name string, columns []Column, key []string, keys []string, indexes ...string) Profile {
	if columns[0].Name == "slot" {
		indexes = append(indexes, "KEY `slot` (`slot`)")
	}
	return Profile{
		Name: name, Columns: append(columns, plainColumns()...), Key: key, Keys: keys, Indexes: indexes,
		Tail: "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
	}
}

// slotColumn finds rows again where the key's text doesn't tell the slot.
func slotColumn() Column {
	return Column{Name: "slot", Definition: "INT UNSIGNED NOT NULL", From: FromSlot}
}

// codeColumn is a unique number.
func codeColumn(null string) Column {
	return Column{
		Name: "code", Definition: "INT UNSIGNED " + null, From: FromUnique0, Form: Number, Server: scatterSQL(),
		Text: func(dst []byte, n uint64) ([]byte, bool) { return appendUint(dst, uint64(scatter(uint32(n)))), true },
	}
}

func plain(name, definition string, form Form, text maker) Column {
	return Column{Name: name, Definition: definition, From: FromPlain, Form: form, Text: text}
}

func wide(name, definition string, form Form, text maker) Column {
	return Column{Name: name, Definition: definition, From: FromWide, Form: form, Text: text}
}

func keyPart(name, definition string, form Form, text maker) Column {
	return Column{Name: name, Definition: definition, From: FromKey, Form: form, Text: text}
}
