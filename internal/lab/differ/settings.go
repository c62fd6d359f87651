package differ

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// setting is a global variable and values of it. group is what a flag leaves out.
type setting struct {
	name   string
	values []string
	group  string
	only   func(server) bool // nil: every server
}

// The groups of settings.
const (
	groupZone  = "zone"  // time_zone
	groupMode  = "mode"  // sql_mode that changes values
	groupQuote = "quote" // sql_mode that changes how statements are read
	groupLimit = "limit" // limits that end statements
	groupPlain = "plain" // all other
)

// Groups are all groups.
var Groups = []string{groupZone, groupMode, groupQuote, groupLimit, groupPlain}

func mysqlOnly(s server) bool { return !s.mariadb }
func eightOnly(s server) bool { return s.eight() }

var variables = []setting{
	{"time_zone", []string{"'+05:30'", "'-12:00'", "'+13:00'", "'Midstream/Summer'"}, groupZone, nil},
	{"explicit_defaults_for_timestamp", []string{"OFF"}, groupPlain, eightOnly},
	{"div_precision_increment", []string{"0", "10"}, groupPlain, nil},
	{"collation_server", []string{"latin1_swedish_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"}, groupPlain, nil},
	{"innodb_strict_mode", []string{"OFF"}, groupPlain, nil},
	{"binlog_row_image", []string{"MINIMAL", "NOBLOB"}, groupPlain, nil},
	{"group_concat_max_len", []string{"4"}, groupPlain, nil},
	{"max_sort_length", []string{"8"}, groupPlain, nil},
	{"lc_time_names", []string{"'de_DE'"}, groupPlain, func(s server) bool { return s.number != 800 && s.number != 507 }},
	{"default_week_format", []string{"3"}, groupPlain, nil},
	{
		"tx_isolation", []string{"'SERIALIZABLE'", "'READ-UNCOMMITTED'"}, groupPlain,
		func(s server) bool { return s.number == 507 || s.number == 1011 },
	},
	{"transaction_isolation", []string{"'SERIALIZABLE'", "'READ-UNCOMMITTED'"}, groupPlain, eightOnly},
	{"sql_safe_updates", []string{"ON"}, groupLimit, nil},
	{"sql_quote_show_create", []string{"OFF"}, groupLimit, nil},
	{"sql_select_limit", []string{"1"}, groupLimit, nil},
	{"max_join_size", []string{"100000"}, groupLimit, nil},
	{"completion_type", []string{"1", "2"}, groupLimit, nil},
	{"autocommit", []string{"OFF"}, groupLimit, nil},
	{"max_execution_time", []string{"60000"}, groupLimit, mysqlOnly},
	{"sql_auto_is_null", []string{"ON"}, groupLimit, nil},
	{"show_create_table_verbosity", []string{"ON"}, groupLimit, func(s server) bool { return s.newest() }},
	{"sql_require_primary_key", []string{"ON"}, groupLimit, func(s server) bool { return s.newest() }},
	{"sql_generate_invisible_primary_key", []string{"ON"}, groupLimit, func(s server) bool { return s.newest() }},
}

// strict are the modes of a server as it comes.
const strict = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// settings are those of a batch.
func settings(s server, r *rand.Rand, include map[string]bool) (list []string) {
	for _, v := range variables {
		if r.IntN(5) > 0 || v.only != nil && !v.only(s) {
			continue
		}
		if value := v.values[r.IntN(len(v.values))]; include[v.group] {
			list = append(list, v.name+" = "+value)
		}
	}
	mode := []string{strict}
	quoting := []string{"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "IGNORE_SPACE", "ANSI"}
	changing := []string{
		"PAD_CHAR_TO_FULL_LENGTH", "NO_UNSIGNED_SUBTRACTION", "ALLOW_INVALID_DATES", "NO_ZERO_DATE",
		"NO_ZERO_IN_DATE", "HIGH_NOT_PRECEDENCE", "REAL_AS_FLOAT",
	}
	switch {
	case s.mariadb:
		changing = append(changing, "TIME_ROUND_FRACTIONAL", "EMPTY_STRING_IS_NULL")
	case s.eight():
		changing = append(changing, "TIME_TRUNCATE_FRACTIONAL")
	default:
		changing = append(changing, "NO_FIELD_OPTIONS")
	}
	if s.number == 800 {
		changing = slices.DeleteFunc(changing, func(m string) bool { return m == "TIME_TRUNCATE_FRACTIONAL" })
	}
	add := func(group string, from []string) {
		for _, m := range from {
			if r.IntN(6) == 0 && include[group] {
				mode = append(mode, m)
			}
		}
	}
	add(groupQuote, quoting)
	add(groupMode, changing)
	if r.IntN(4) == 0 && include[groupMode] {
		mode = slices.DeleteFunc(mode, func(m string) bool { return m == strict })
	}
	return append(list, "sql_mode = '"+strings.Join(mode, ",")+"'")
}
