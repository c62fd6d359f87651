// Package rowcopy syncs every row of the source once, range by range in key order.
//
// One worker at a time looks up the ends of the next chunks, for all workers that wait, and hands them
// out (Begin). The workers then sync their chunks at the same time and end them in any order. A
// chunk's number of rows follows the time that chunks take. The number of workers is the governor's.
package rowcopy
