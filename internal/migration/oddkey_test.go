package migration_test

import "testing"

// TestL11_KeysThatAStrictSessionRefuses: rows whose key a strict session would not take are followed where the ALTER changes the key.
func TestL11_KeysThatAStrictSessionRefuses(t *testing.T) {
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
	})
}
