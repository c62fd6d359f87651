package dbconn

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// Numbers of server errors that the engine tells apart.
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
	errRecordChanged     = 1020 // since the snapshot (MariaDB's innodb_snapshot_isolation), or the statement's beginning
	errLockNowait        = 3572
	errUnfitText         = 3854
	errCheckViolated     = 3819
	errCacheFull         = 1197
	errNoNumber          = 1467
	errTornTriggers      = 1602
	errOneFulltext       = 1795
	errHookRefused       = 3100 // a plugin's, for a transaction that is too large, and for anything else
	errWritesetTooLarge  = 3231 // of Group Replication: more rows than its limit has room for
	errGroupConflict     = 3101 // another member has committed a change of the same row

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

// Duplicate says that a row would repeat the value of a unique key.
func Duplicate(err error) bool { return Number(err) == errDuplicate }

// Contended says that the transaction lost against another one, or was stopped by
// somebody's KILL QUERY; that it has been rolled back or must be, and may be tried again.
func Contended(err error) bool {
	switch Number(err) {
	case errDeadlock, errLockWaitTimeout, errLockNowait, errQueryInterrupted, errGroupConflict, errStatementTimeout, errRecordChanged:
		return true
	}
	return false
}

// OutWaited says that the server has given up a wait for a lock (lock_wait_timeout, innodb_lock_wait_timeout).
func OutWaited(err error) bool { return Number(err) == errLockWaitTimeout }

// NoNumber says that the server had no AUTO_INCREMENT number for a row: there is none left, or
// (innodb_autoinc_lock_mode 0 and 1) the transaction waited for the lock of the table's counter and
// was rolled back for a deadlock, of which the server then tells nothing else.
func NoNumber(err error) bool { return Number(err) == errNoNumber }

// TornTriggers says that the server could not make out a table's triggers. MariaDB keeps them in a
// file, and told so once of one that a statement was just rewriting which KILL QUERY had met
// (10.11.18, one of eleven overrun attempts on a machine with a load of 20).
func TornTriggers(err error) bool { return Number(err) == errTornTriggers }

// Interrupted says that the statement was withdrawn by KILL QUERY, ours or somebody else's.
func Interrupted(err error) bool { return Number(err) == errQueryInterrupted }

// UnfitText says that the server could not show a text, a running statement say, as a letter of it
// is none in utf8mb3.
func UnfitText(err error) bool { return Number(err) == errUnfitText }

// Full says that the server, or the account, may have no more connections.
func Full(err error) bool {
	n := Number(err)
	return n == errTooManyConnections || n == errTooManyOfUser || n == errUserLimit
}

// OneFulltext says that the server does not build several FULLTEXT indexes in place at once.
func OneFulltext(err error) bool { return Number(err) == errOneFulltext }

// NoSuchTable says that a table is not there.
func NoSuchTable(err error) bool { n := Number(err); return n == errNoSuchTable || n == errNoSuchView }

// NoSuchDatabase says that a database is not there.
func NoSuchDatabase(err error) bool { return Number(err) == errNoSuchDatabase }

// TableExists says that a name is another table's.
func TableExists(err error) bool { return Number(err) == errTableExists }

// NoSuchColumn says that a column is not there.
func NoSuchColumn(err error) bool { return Number(err) == errNoSuchColumn }

// NullRefused says that a value is NULL where it must not be.
func NullRefused(err error) bool { return Number(err) == errBadNull }

// TooLong says that a value is too long for its column.
func TooLong(err error) bool { return Number(err) == errDataTooLong }

// Truncated says that a part of a value was lost: of a string that is too long, of a text that
// is no number, of an ENUM that has no such member.
func Truncated(err error) bool { return Number(err) == errTruncated }

// OutOfRange says that a number is out of the range of its column.
func OutOfRange(err error) bool { return Number(err) == errOutOfRange }

// Unconvertible says that a value does not fit the column it is meant for.
func Unconvertible(err error) bool {
	switch Number(err) {
	case 1264, 1265, 1292, 1366, 1406, 1411, 3140, 3854,
		3643: // a geometry of another reference system than its column
		return true
	}
	return false
}

// ValueRefused says that a value, not the statement, was refused: it does not fit, is NULL
// where it must not be, or violates a CHECK. A duplicate is another matter.
func ValueRefused(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) || Duplicate(err) {
		return false
	}
	class := string(e.SQLState[:2]) // 22: data exception, 23: constraint violation
	return class == "22" || class == "23" || Unconvertible(err) || e.Number == errCheckViolated || e.Number == errCheckViolatedMariaDB
}

// Exhausted says that the server has no room: disk, tablespace, memory or quota.
func Exhausted(err error) bool {
	switch Number(err) {
	case 1021, 1037, 1041, 1114:
		return true
	}
	return false
}

// NoSortMemory says that the sort buffer of the session is too small for a statement (sort_buffer_size). The same statement meets it
// again, until somebody enlarges the buffer.
func NoSortMemory(err error) bool { return Number(err) == errSortMemory }

// TooLarge says that a statement is longer than the server takes (max_allowed_packet).
func TooLarge(err error) bool {
	return Number(err) == errPacketTooLarge || errors.Is(err, mysql.ErrPktTooLarge)
}

// Oversized says that a transaction was rolled back that is probably larger than the server lets one be: than
// max_binlog_cache_size, or group_replication_transaction_size_limit.
func Oversized(err error) bool {
	switch Number(err) {
	case errCacheFull, errHookRefused, errWritesetTooLarge:
		return true
	}
	return false
}

// ReadOnly says that the server takes no writes: it is read-only, or its group lets it write no more.
func ReadOnly(err error) bool {
	switch Number(err) {
	case 1290, 1836, 1792, // read_only, innodb_read_only, a read-only transaction
		3092: // not in its group
		return true
	}
	return false
}

// Unwilling says that the server takes no writes, or no connections, for the moment: it is
// read-only, shutting down, or full.
func Unwilling(err error) bool {
	switch Number(err) {
	case 1040, 1203, 1226: // connections
		return true
	}
	return ReadOnly(err)
}

// SyntaxError says that the server does not know the statement.
func SyntaxError(err error) bool { return Number(err) == 1064 }

// Denied says that the account lacks a right.
func Denied(err error) bool {
	switch Number(err) {
	case errAccessDenied, errDBAccessDenied, errTableAccessDenied, 1143, 1227, 1370,
		1401: // XA RECOVER without XA_RECOVER_ADMIN (tried on 9.7.4)
		return true
	}
	return false
}
