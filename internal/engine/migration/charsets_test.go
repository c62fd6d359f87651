package migration_test

import (
	"strings"
	"testing"
)

// hexRange are the bytes from one to another, as the digits of a hexadecimal literal.
func hexRange(from, to int) string {
	var b strings.Builder
	for c := from; c <= to; c++ {
		const digits = "0123456789ABCDEF"
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// members64 are the members of the largest SET.
func members64() string {
	var members []string
	for i := range 64 {
		members = append(members, "'m"+string(rune('0'+i/10))+string(rune('0'+i%10))+"'")
	}
	return strings.Join(members, ",")
}

var charsetCases = []typeCase{
	{
		name: "bytes that are another charset's",
		columns: "id INT PRIMARY KEY, a VARCHAR(300) CHARACTER SET latin1, b TEXT CHARACTER SET latin1, c VARCHAR(300) CHARACTER SET latin1, " +
			"d VARBINARY(300), e BLOB",
		rows: []string{
			"1, X'C3A9E282AC', X'C3A9', X'C3A9E28281', X'FFFEC3', X'ED'",
			"2, X'81', X'', X'00', X'80FF', X'00'",
			"3, X'" + hexRange(
				0x80, 0xff,
			) + "', X'" + hexRange(
				0, 0xff,
			) + "', X'" + hexRange(
				0, 0xff,
			) + "', X'" + hexRange(
				0, 0xff,
			) + "', NULL",
		},
		alter: "MODIFY a VARCHAR(300) CHARACTER SET utf8mb4, MODIFY b BLOB, MODIFY c VARBINARY(300), MODIFY d VARCHAR(300) CHARACTER SET latin1, MODIFY e LONGBLOB",
	},
	{
		name: "strings from utf8mb4",
		columns: "id INT PRIMARY KEY, a VARCHAR(40), b VARCHAR(40), c TEXT, d VARCHAR(40), e CHAR(20), f VARCHAR(40), " +
			"g VARCHAR(40) CHARACTER SET utf8mb3, h TEXT",
		rows: []string{"1, 'ÄÖÜß€', '中文', 'テスト', 'Привет', 'añ😀', '😀中', 'ñ中', '中文'", "2, '', ' ', '', ' x ', '', '', '', ''",
			"3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"},
		alter: "MODIFY a VARCHAR(40) CHARACTER SET latin1, MODIFY b VARCHAR(40) CHARACTER SET gbk, MODIFY c TEXT CHARACTER SET sjis, " +
			"MODIFY d VARCHAR(40) CHARACTER SET cp1251, MODIFY e CHAR(20) CHARACTER SET utf16, MODIFY f VARCHAR(40) CHARACTER SET utf32, " +
			"MODIFY g VARCHAR(40) CHARACTER SET utf8mb4, MODIFY h TEXT CHARACTER SET big5",
	},
	{
		name: "blanks, nothing and NULL",
		columns: "id INT PRIMARY KEY, a VARCHAR(10) COLLATE utf8mb4_general_ci, b VARCHAR(10) COLLATE utf8mb4_0900_ai_ci, c CHAR(10), " +
			"d VARCHAR(10), e VARBINARY(10), f TEXT, UNIQUE KEY b (b)",
		rows: []string{
			"1, 'x ', 'x ', 'x', 'x  ', 'x ', 'x '", "2, '', '', '', '', '', ''",
			"3, NULL, NULL, NULL, NULL, NULL, NULL", "4, 'x', 'x', ' x', '\t', 'x', '😀 '",
		},
		alter: "MODIFY a VARCHAR(12) COLLATE utf8mb4_bin, MODIFY c VARCHAR(10), MODIFY d CHAR(10), MODIFY e BLOB, ADD COLUMN z VARCHAR(9) NOT NULL",
	},
	{
		name: "members of all kinds",
		columns: "id INT PRIMARY KEY, a ENUM('it''s','a,b','?','\\\\','', 'é') CHARACTER SET latin1, b SET('it''s','?','é') CHARACTER SET latin1, " +
			"c ENUM('x','y'), d SET(" + members64() + "), e ENUM('x','y'), f SET('x','y'), g ENUM('x','y'), h ENUM('x','y')",
		rows: []string{
			"1, 'it''s', 'it''s,?,é', 'x', 'm00,m63', 'x', 'x,y', 'x', 'y'",
			"2, 'a,b', '', 'nosuch', 'm63', 'nosuch', '', 'nosuch', 'x'",
			"3, '?', '?', 'y', '', 'y', 'nosuch', 'y', NULL", "4, '', 'é', NULL, NULL, NULL, NULL, NULL, 'x'",
			"5, '\\\\', NULL, 'y', 'm01', 'x', 'x', 'y', 'y'", "6, 'é', '?', 'y', 'm01', 'x', 'x', 'y', 'y'",
		},
		alter: "MODIFY a VARCHAR(20), MODIFY b TEXT, MODIFY c VARCHAR(9), MODIFY d VARCHAR(300), MODIFY e ENUM('x','y','z'), MODIFY f SET('x','y','z'), " +
			"MODIFY h ENUM('y','new','x')",
	},
	{
		name: "charset, members and times changed with the name",
		columns: "id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b ENUM('x','é') CHARACTER SET latin1, c DATETIME(3), d TIMESTAMP NULL, " +
			"e SET('p','q'), f VARCHAR(20) CHARACTER SET gbk, g BINARY(4)",
		rows: []string{"1, 'ÄÖ€', 'é', '2020-10-25 02:30:00.007', '2020-10-25 00:30:00', 'p,q', '中文', X'0100'",
			"2, '', 'x', NULL, NULL, '', '', X'00000001'"},
		alter: "CHANGE a f VARCHAR(20) CHARACTER SET utf8mb4, CHANGE b bb VARCHAR(20), CHANGE c cc DATETIME(6), CHANGE d dd DATETIME, CHANGE e ee SET('q','p'), " +
			"CHANGE f a VARCHAR(20) CHARACTER SET utf8mb4, CHANGE g gg VARBINARY(4)",
	},
}

// TestCharsets: strings, bytes and members of every kind.
func TestCharsets(t *testing.T) {
	sideBySide(t)
	sameAsNative(t, charsetCases)
}
