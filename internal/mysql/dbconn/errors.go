package dbconn

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// These are the server errors that the engine distinguishes by their numbers.
const (
	errBadNull = 1048

	errTooManyConnections = 1040
	errTooManyOfUser      = 1203
	errUserLimit          = 1226

	errDuplicate         = 1062
	errOutOfRange        = 1264
	errTruncated         = 1265
	errDataTooLong       = 1406
	errAccessDenied      = 1045
	errDBAccessDenied    = 1044
	errTableAccessDenied = 1142
	errPacketTooLarge    = 1153
	errSortMemory        = 1038
	errNoSuchThread      = 1094
	errNoSuchColumn      = 1054
	errNoSuchTable       = 1146
	errNoSuchDatabase    = 1049
	errNoSuchView        = 1109 // of information_schema
	errTableExists       = 1050
	errLockWaitTimeout   = 1205
	errDeadlock          = 1213
	errQueryInterrupted  = 1317
	errStatementTimeout  = 1969 // MariaDB's max_statement_time
	// errRecordChanged: changed since the snapshot (MariaDB's innodb_snapshot_isolation), or since
	// the statement's beginning.
	errRecordChanged       = 1020
	errLockNowait          = 3572
	errUnfitText           = 3854
	errCheckViolated       = 3819
	errNoDefault           = 1364
	errCacheFull           = 1197
	errNoNumber            = 1467
	errTornTriggers        = 1602
	errNoReferencedTrigger = 3011
	errReferred            = 3730
	errNoParentIndex       = 1822
	errOneFulltext         = 1795
	// errHookRefused: a plugin's error, for a transaction that is too large, and for anything else.
	errHookRefused = 3100
	// errWritesetTooLarge: Group Replication's error for more rows than its limit has room for.
	errWritesetTooLarge = 3231
	// errGroupConflict: another member has committed a change of the same row.
	errGroupConflict = 3101

	errCheckViolatedMariaDB = 4025
)

// Number returns the server's number of an error, or 0 if it isn't the server's.
func Number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// Message returns the server's text of an error without the client's wrapping.
func Message(err error) string {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// Duplicate reports whether a row would repeat the value of a unique key.
func Duplicate(err error) bool { return Number(err) == errDuplicate }

// Contended reports whether the transaction lost against another one, or another session stopped it
// by KILL QUERY. It has been rolled back or must be, and may be tried again.
func Contended(err error) bool {
	switch Number(err) {
	case errDeadlock, errLockWaitTimeout, errLockNowait, errQueryInterrupted, errGroupConflict, errStatementTimeout, errRecordChanged:
		return true
	}
	return false
}

// OutWaited reports whether the server has given up a wait for a lock (lock_wait_timeout,
// innodb_lock_wait_timeout).
func OutWaited(err error) bool { return Number(err) == errLockWaitTimeout }

// NoNumber reports whether the server had no AUTO_INCREMENT number for a row. Either none is left,
// or the transaction waited for the lock of the table's counter (innodb_autoinc_lock_mode 0 and 1)
// and was rolled back for a deadlock. The server does not report that deadlock in another way.
func NoNumber(err error) bool { return Number(err) == errNoNumber }

// LacksReferencedTrigger reports that a CREATE TRIGGER names another trigger (PRECEDES) that the table does not have.
func LacksReferencedTrigger(err error) bool { return Number(err) == errNoReferencedTrigger }

// TornTriggers reports whether the server could not read a table's triggers. MariaDB keeps them in
// a file. It once reported this about a file that a statement was just rewriting when KILL QUERY
// hit the statement (10.11.18, one of eleven overrun attempts on a machine with a load of 20).
func TornTriggers(err error) bool { return Number(err) == errTornTriggers }

// Interrupted reports whether KILL QUERY withdrew the statement, ours or another session's.
func Interrupted(err error) bool { return Number(err) == errQueryInterrupted }

// UnfitText reports whether the server could not show a text, such as a running statement, because
// a letter of it is not in utf8mb3.
func UnfitText(err error) bool { return Number(err) == errUnfitText }

// Full reports whether the server, or the account, may have no more connections.
func Full(err error) bool {
	n := Number(err)
	return n == errTooManyConnections || n == errTooManyOfUser || n == errUserLimit
}

// OneFulltext reports whether the server does not build several FULLTEXT indexes in place at once.
func OneFulltext(err error) bool { return Number(err) == errOneFulltext }

// NoSuchTable reports whether a table does not exist.
func NoSuchTable(err error) bool { n := Number(err); return n == errNoSuchTable || n == errNoSuchView }

// NoSuchDatabase reports whether a database does not exist.
func NoSuchDatabase(err error) bool { return Number(err) == errNoSuchDatabase }

// TableExists reports whether another table has the name.
func TableExists(err error) bool { return Number(err) == errTableExists }

// NoIndexOfParent reports whether the table that a foreign key refers to lacks an index of these columns (MySQL 8.0 and later).
func NoIndexOfParent(err error) bool { return Number(err) == errNoParentIndex }

// Referred reports whether a table can't be dropped because a foreign key of another table refers to it (MySQL 8.0 and later).
func Referred(err error) bool { return Number(err) == errReferred }

// NoSuchColumn reports whether a column does not exist.
func NoSuchColumn(err error) bool { return Number(err) == errNoSuchColumn }

// NullRefused reports whether a value is NULL and must not be.
func NullRefused(err error) bool { return Number(err) == errBadNull }

// NoDefault reports whether an INSERT gives no value for a column that has no default. The server
// reports it for no row, too.
func NoDefault(err error) bool { return Number(err) == errNoDefault }

// TooLong reports whether a value is too long for its column.
func TooLong(err error) bool { return Number(err) == errDataTooLong }

// Truncated reports whether a part of a value was lost: of a string that is too long, of a text
// that is no number, or of an ENUM without that member.
func Truncated(err error) bool { return Number(err) == errTruncated }

// OutOfRange reports whether a number is out of the range of its column.
func OutOfRange(err error) bool { return Number(err) == errOutOfRange }

// Unconvertible reports whether a value does not fit its column.
func Unconvertible(err error) bool {
	switch Number(err) {
	case 1264, 1265, 1292, 1366, 1406, 1411, 3140, 3854,
		1977, // MariaDB: a letter has no code in the other character set
		// A geometry in another reference system than its column's.
		3643,
		// An expression of an index: too long, and an array with too many or too large elements.
		3751, 3905, 3906,
		6136: // A VECTOR that a lax session has left empty (MySQL 9).
		return true
	}
	return false
}

// ValueRefused reports whether a value, not the statement, was refused: it does not fit, is NULL
// and must not be, or violates a CHECK. It is false for a duplicate.
func ValueRefused(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) || Duplicate(err) {
		return false
	}
	class := string(e.SQLState[:2]) // 22: data exception, 23: constraint violation
	return NoPartition(err) || class == "22" || class == "23" || Unconvertible(err) || e.Number == errCheckViolated || e.Number == errCheckViolatedMariaDB
}

// NoNumbersLeft reports whether an AUTO_INCREMENT column has no number left: error 1467 of MySQL, and 167 of MariaDB's InnoDB.
func NoNumbersLeft(err error) bool { return Number(err) == 1467 || Number(err) == 167 }

// NoSuchDay reports whether a literal has a day that does not exist, which the sql_mode of the session refuses.
func NoSuchDay(err error) bool { return Number(err) == 1525 }

// NoPartition reports whether no partition takes a row.
func NoPartition(err error) bool { return Number(err) == 1526 }

// Exhausted reports whether the server has no room: disk, tablespace, memory or quota.
func Exhausted(err error) bool {
	switch Number(err) {
	case 1021, 1037, 1041, 1114:
		return true
	}
	return false
}

// NoSortMemory reports whether the sort buffer of the session is too small for a statement
// (sort_buffer_size). The same statement fails again, until an operator enlarges the buffer.
func NoSortMemory(err error) bool { return Number(err) == errSortMemory }

// TooLarge reports whether a statement is longer than the server takes (max_allowed_packet).
func TooLarge(err error) bool {
	return Number(err) == errPacketTooLarge || errors.Is(err, mysql.ErrPktTooLarge)
}

// Oversized reports whether a transaction was rolled back, probably because it exceeds a limit of
// the server: max_binlog_cache_size, or group_replication_transaction_size_limit.
func Oversized(err error) bool {
	switch Number(err) {
	case errCacheFull, errHookRefused, errWritesetTooLarge:
		return true
	}
	return false
}

// ReadOnly reports whether the server takes no writes: it is read-only, or its group lets it write
// no more.
func ReadOnly(err error) bool {
	switch Number(err) {
	case 1290, 1836, 1792, // read_only, innodb_read_only, a read-only transaction
		3092: // not in its group
		return true
	}
	return false
}

// Unwilling reports whether the server takes no writes, or no connections, for the moment: it is
// read-only, shutting down, or full.
func Unwilling(err error) bool {
	switch Number(err) {
	case 1040, 1203, 1226: // connections
		return true
	}
	return ReadOnly(err)
}

// NoBinlog reports whether the server writes no binlog.
func NoBinlog(err error) bool { return Number(err) == 1381 }

// NoProcedure reports whether the server has no stored procedure of that name.
func NoProcedure(err error) bool { return Number(err) == 1305 }

// NoBinlogEvent reports whether the server could not show an event of its binlog: at that place is none.
func NoBinlogEvent(err error) bool { return Number(err) == 1220 }

// SyntaxError reports whether the server does not know the statement.
func SyntaxError(err error) bool { return Number(err) == 1064 }

// Denied reports whether the account lacks a right.
func Denied(err error) bool {
	switch Number(err) {
	case errAccessDenied, errDBAccessDenied, errTableAccessDenied, 1143, 1227, 1370,
		1401: // XA RECOVER without XA_RECOVER_ADMIN (tried on 9.7.4)
		return true
	}
	return false
}
