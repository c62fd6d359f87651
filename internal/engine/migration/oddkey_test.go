package migration_test

import (
	"testing"

	"midstream/internal/lab/mysqltest"
)

// TestL11_KeysThatAStrictSessionRefuses: the run follows rows whose key a strict session would
// refuse, if the ALTER changes the key.
func TestL11_KeysThatAStrictSessionRefuses(t *testing.T) {
	mysqltest.Seldom(t)
	sameAsNative(t, []typeCase{
		{
			name:    "ENUM key that is no member, to a number",
			columns: "id ENUM('','x','y') PRIMARY KEY, a INT",
			rows:    []string{"0, 1", "1, 2", "'y', 3"},
			alter:   "MODIFY id BIGINT UNSIGNED NOT NULL",
		},
		{
			name:    "ENUM in the key that is no member, to a text",
			columns: "k INT, id ENUM('x','y') NOT NULL, a INT, PRIMARY KEY (k, id)",
			rows:    []string{"1, 0, 1", "1, 1, 2", "2, 0, 3"},
			alter:   "MODIFY id VARCHAR(9) NOT NULL",
		},
		{
			name:    "ENUM key with two equal members",
			columns: "id ENUM('é','e','x') PRIMARY KEY, a INT",
			rows:    []string{"1, 1", "3, 3"},
			alter:   "MODIFY id ENUM('é','e','x') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
		},
		{
			name:    "date in the key that there is not",
			columns: "id DATE, s VARCHAR(9) NOT NULL, a INT, PRIMARY KEY (id, s)",
			rows:    []string{"'0000-00-00', 'a', 1", "'2020-02-29', 'b', 2", "'2020-00-00', 'a', 3"},
			alter:   "MODIFY s VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
		},
	})
}
