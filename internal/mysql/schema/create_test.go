package schema

import (
	"fmt"
	"testing"
)

// TestOptions: everything after the body is an option, or the partitions.
func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci":                                                                        "[{ENGINE InnoDB} {CHARSET utf8mb4} {COLLATE utf8mb4_0900_ai_ci}] 0 ",
		"ENGINE=InnoDB AUTO_INCREMENT=7 ROW_FORMAT=DYNAMIC COMMENT='it''s = /* x */ PARTITION BY'":                                                "[{ENGINE InnoDB} {ROW_FORMAT DYNAMIC} {COMMENT 'it''s = /* x */ PARTITION BY'}] 7 ",
		"/*!50100 TABLESPACE `in``x` */ ENGINE=InnoDB DATA DIRECTORY='/x/' /*!80023 AUTOEXTEND_SIZE=4194304 */":                                   "[{TABLESPACE `in``x`} {ENGINE InnoDB} {DATA DIRECTORY '/x/'} {AUTOEXTEND_SIZE 4194304}] 0 ",
		"ENGINE=MRG_MyISAM DEFAULT CHARSET=latin1 UNION=(`a`,`b (`) INSERT_METHOD=LAST":                                                           "[{ENGINE MRG_MyISAM} {CHARSET latin1} {UNION (`a`,`b (`)} {INSERT_METHOD LAST}] 0 ",
		"/*!50100 TABLESPACE `x` STORAGE DISK */ ENGINE=ndbcluster START TRANSACTION":                                                             "[{TABLESPACE `x`} {STORAGE DISK } {ENGINE ndbcluster} {START TRANSACTION }] 0 ",
		"ENGINE=InnoDB AUTO_INCREMENT=3\n/*!50100 PARTITION BY RANGE (`id`)\n(PARTITION p0 VALUES LESS THAN (5) COMMENT = 'AUTO_INCREMENT=9') */": "[{ENGINE InnoDB}] 3 PARTITION BY RANGE (`id`) (PARTITION p0 VALUES LESS THAN (5) COMMENT = 'AUTO_INCREMENT=9')",
	} {
		c, err := parseCreate("CREATE TABLE `t` (\n  `id` int\n) " + text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.options, " ", c.autoIncrement, " ", c.partitioning); got != want {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
}
