package prescan

import (
	"fmt"

	"midstream/internal/mysql/schema"
)

// longestSort is the largest value of max_sort_length, in bytes.
const longestSort = 8388608

// usualSort is the least sort_buffer_size that a server has by itself, in bytes.
const usualSort = 256 << 10

// sorting returns the statements that let a session sort by complete values of a key. MariaDB
// reserves the longest sort key that a type may have, and needs memory for several of them (error
// 1038). A letter takes up to 32 bytes there.
func (s *Spec) sorting(k schema.Key) []string {
	var key, longest int64
	for _, part := range k.Parts {
		c, ok := s.Shadow.Column(part.Column)
		if !ok || c.Length == 0 {
			continue
		}
		length := c.Length
		if part.Prefix > 0 {
			length = min(length, int64(part.Prefix))
		}
		bytes := min(longestSort, 32*length)
		if blob := c.Family() == "varbinary" && c.DataType != "varbinary" ||
			c.Family() == "string" && c.DataType != "char" && c.DataType != "varchar"; blob {
			longest = max(longest, bytes)
		}
		key += bytes
	}
	var statements []string
	if buffer := 20 * key; buffer > usualSort {
		statements = append(statements, fmt.Sprintf("SET SESSION sort_buffer_size = %d", max(buffer, 8*usualSort)))
	}
	if longest > 0 {
		statements = append(statements, fmt.Sprintf("SET SESSION max_sort_length = %d", max(longest, 8192)))
	}
	return statements
}
