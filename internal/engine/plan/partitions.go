package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"midstream/internal/mysql/schema"
)

var engineOf = regexp.MustCompile(`(?i)\bENGINE\s*=`)

// filesOf is the number of files of a partitioned table, read from the text that the server shows.
// The text shows an engine for each partition, or for each subpartition if they are listed.
// Otherwise it shows only their number.
func filesOf(partitioning string) int {
	text := quotedText.ReplaceAllString(partitioning, " ")
	if n := len(engineOf.FindAllString(text, -1)); n > 0 {
		return n * max(numberIn(subpartitions, text), 1)
	}
	return partsIn(text)
}

// partsIn is the number of partitions that a definition without quoted text makes.
func partsIn(text string) int {
	listed := max(len(partitionRows.FindAllString(text, -1)), numberIn(partitions, text), 1)
	return listed * max(numberIn(subpartitions, text), 1)
}

// closed is for how long no session can use a table with many partitions while the server itself
// changes the table. An online statement locks sessions out at its beginning and at its end, and
// works on the files of all partitions then. On the empty clone it does nothing else: up to two
// thirds of that time was under the lock (300 partitions, 9.7.4, 8.0.12, MariaDB 11.8.9).
func (a *Answer) closed(table *schema.Table) time.Duration {
	switch {
	case a == nil || !table.Partitioned || filesOf(table.Partitioning) <= fewFiles:
		return 0
	case a.Effect <= Metadata:
		return a.Setup
	}
	return a.Setup * 2 / 3
}

// closedText describes what that lock is for.
func closedText(text string, closed time.Duration) string {
	if closed == 0 {
		return text
	}
	before, _, _ := strings.Cut(text, ": some")
	return fmt.Sprintf("%s: about %s, as the table has many partitions", before, round(closed))
}
