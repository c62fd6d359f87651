package dbconn

import (
	"fmt"
	"slices"
	"strings"
)

// Values are the settings with which a session computes the values of a row. With them it gets the
// values that the server's own ALTER gives. All sessions of a run that sync, compare or check rows
// have the same. The zero value means UTC and our own sql_mode.
type Values struct {
	// Zone is a time_zone; "" for UTC.
	Zone string
	// Modes are further parts of the sql_mode.
	Modes []string
	// Moment is what NOW() gives, in seconds since 1970 with a fraction of microseconds; "" for the
	// time of the statement.
	Moment string
	// Virtual makes a session of MariaDB compute virtual columns when it inserts a row, and refuse
	// values that do not fit, as the server's ALTER does. With binlog_row_image MINIMAL or NOBLOB
	// the server would take them unseen. If the account may not set the variable, it stays
	// unchanged.
	Virtual bool
}

// PadChar is the mode in which queries return a CHAR in its full length, with blanks behind it.
const PadChar = "PAD_CHAR_TO_FULL_LENGTH"

// Pads reports whether a session has the mode PadChar.
func (v Values) Pads() bool { return slices.Contains(v.Modes, PadChar) }

const fullImages = "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; SET SESSION binlog_row_image = 'FULL'; END"

// Setup returns the statements that bring a session into these settings.
func (v Values) Setup() []string {
	var set []string
	if v.Zone != "" {
		set = append(set, "SESSION time_zone = '"+strings.ReplaceAll(v.Zone, "'", "''")+"'")
	}
	if len(v.Modes) > 0 {
		set = append(set, fmt.Sprintf("SESSION sql_mode = '%s,%s'", ourModes, strings.Join(v.Modes, ",")))
	}
	if v.Moment != "" {
		set = append(set, "SESSION timestamp = "+v.Moment)
	}
	var statements []string
	if len(set) > 0 {
		statements = append(statements, "SET "+strings.Join(set, ", "))
	}
	if v.Virtual {
		statements = append(statements, fullImages)
	}
	return statements
}
