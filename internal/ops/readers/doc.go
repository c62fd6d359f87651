// Package readers holds a swap until the programs that read the server's binlog are near its end: Debezium, Flink CDC, Maxwell, and
// others that a team names.
//
//	reader.go   a reader: its name, and the URL that tells its position
//	offset.go   the position in an answer, as Kafka Connect's REST API gives it
//	readers.go  the question before the swap (operator.Asked)
//
// A reader is near enough if it has read all that the binlog had some seconds ago (--max-reader-lag). Positions are those of one
// server. Nothing is read from the server but the end of its binlog, and nothing is written.
package readers
