package differ

import "strings"

// server says what a version of the server has.
type server struct {
	version string
	mariadb bool
	number  int // 507, 800 (8.0.12), 907, 1011, 1108
}

func serverOf(version string) server {
	s := server{version: version, mariadb: strings.HasPrefix(version, "mariadb")}
	s.number = map[string]int{"5.7": 507, "8.0": 800, "9.7": 907, "mariadb-10.11": 1011, "mariadb-11.8": 1108}[version]
	return s
}

// newest says that it has all of MySQL 9.
func (s server) newest() bool { return s.number == 907 }

// eight says that it has what 8.0.12 has.
func (s server) eight() bool { return s.number == 800 || s.number == 907 }

func (s server) checks() bool     { return s.newest() || s.mariadb }
func (s server) computed() bool   { return s.newest() || s.mariadb } // defaults
func (s server) descending() bool { return s.eight() || s.mariadb }
func (s server) renames() bool    { return s.eight() || s.mariadb }
func (s server) invisible() bool  { return s.newest() || s.mariadb } // columns

// letters are character sets with a collation each, and what each can hold.
type letters struct{ charset, collation, holds string }

// What a character set holds beyond ASCII.
const (
	holdsASCII   = ""
	holdsWestern = "w"
	holdsRussian = "r"
	holdsEastern = "e"
	holdsMost    = "wre"
	holdsAll     = "wreu"
)

func (s server) letters() []letters {
	list := []letters{
		{"utf8mb4", "utf8mb4_general_ci", holdsAll},
		{"utf8mb4", "utf8mb4_bin", holdsAll},
		{"utf8mb4", "utf8mb4_unicode_ci", holdsAll},
		{"latin1", "latin1_swedish_ci", holdsWestern},
		{"latin1", "latin1_bin", holdsWestern},
		{"latin1", "latin1_german2_ci", holdsWestern},
		{"utf8", "utf8_general_ci", holdsMost},
		{"utf8", "utf8_unicode_ci", holdsMost},
		{"ascii", "ascii_general_ci", holdsASCII},
		{"ascii", "ascii_bin", holdsASCII},
		{"utf16", "utf16_general_ci", holdsAll},
		{"ucs2", "ucs2_general_ci", holdsMost},
		{"utf32", "utf32_bin", holdsAll},
		{"cp1251", "cp1251_general_ci", holdsRussian},
		{"koi8r", "koi8r_general_ci", holdsRussian},
		{"gbk", "gbk_chinese_ci", holdsEastern},
		{"sjis", "sjis_japanese_ci", holdsEastern},
		{"big5", "big5_chinese_ci", holdsEastern},
	}
	if s.eight() {
		list = append(
			list, letters{"utf8mb4", "utf8mb4_0900_ai_ci", holdsAll},
			letters{"utf8mb4", "utf8mb4_0900_as_cs", holdsAll}, letters{"utf8mb4", "utf8mb4_0900_ai_ci", holdsAll},
		)
	}
	if s.newest() {
		list = append(list, letters{"utf8mb4", "utf8mb4_0900_bin", holdsAll})
	}
	if s.mariadb {
		list = append(list, letters{"utf8mb4", "utf8mb4_uca1400_ai_ci", holdsAll}, letters{"utf8mb4", "utf8mb4_general_nopad_ci", holdsAll},
			letters{"utf8mb4", "utf8mb4_nopad_bin", holdsAll})
	}
	return list
}
