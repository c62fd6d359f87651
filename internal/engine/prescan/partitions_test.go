package prescan

import (
	"testing"

	"midstream/internal/mysql/schema"
)

// The texts are those of SHOW CREATE TABLE, without comments.
func TestOutsideOfPartitions(t *testing.T) {
	for text, want := range map[string]string{
		"PARTITION BY RANGE (`id`) (PARTITION p0 VALUES LESS THAN (10) ENGINE = InnoDB, PARTITION p1 VALUES LESS THAN (20) ENGINE = InnoDB)":           "(`id`) >= 20",
		"PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (738000) ENGINE = InnoDB)":                                                     "(TO_DAYS(d)) >= 738000",
		"PARTITION BY RANGE (`id`) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB)":                       "",
		"PARTITION BY RANGE  COLUMNS(d) (PARTITION p0 VALUES LESS THAN ('2024-01-01') ENGINE = InnoDB)":                                                "`d` >= '2024-01-01'",
		"PARTITION BY RANGE  COLUMNS(`a`,`b`) (PARTITION p0 VALUES LESS THAN (1,2), PARTITION p1 VALUES LESS THAN (5,'x'))":                            "(`a` > 5 OR `a` = 5 AND `b` >= 'x')",
		"PARTITION BY RANGE  COLUMNS(`a`,`b`) (PARTITION p0 VALUES LESS THAN (5,MAXVALUE))":                                                            "`a` > 5",
		"PARTITION BY RANGE  COLUMNS(`a`,`b`) (PARTITION p0 VALUES LESS THAN (MAXVALUE,MAXVALUE))":                                                     "",
		"PARTITION BY RANGE (`id`) SUBPARTITION BY HASH (`n`) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (10) (SUBPARTITION s0, SUBPARTITION s1))": "(`id`) >= 10",
		"PARTITION BY LIST (`id` MOD 3) (PARTITION p0 VALUES IN (0,1) ENGINE = InnoDB)":                                                                "(`id` MOD 3) IS NULL OR ((`id` MOD 3)) NOT IN (0, 1)",
		"PARTITION BY LIST (`id`) (PARTITION p0 VALUES IN (NULL,1), PARTITION p1 VALUES IN (-2))":                                                      "((`id`)) NOT IN (1, -2)",
		"PARTITION BY LIST (`id`) (PARTITION p0 VALUES IN (NULL))":                                                                                     "(`id`) IS NOT NULL",
		"PARTITION BY LIST  COLUMNS(`r`) (PARTITION p0 VALUES IN ('eu',_utf8mb4'us') ENGINE = InnoDB)":                                                 "`r` IS NULL OR (`r`) NOT IN ('eu', _utf8mb4'us')",
		"PARTITION BY LIST  COLUMNS(`a`,`b`) (PARTITION p0 VALUES IN ((1,'x'),(2,'y')))":                                                               "`a` IS NULL OR `b` IS NULL OR (`a`, `b`) NOT IN ((1,'x'), (2,'y'))",
		"PARTITION BY LIST  COLUMNS(`a`,`b`) (PARTITION p0 VALUES IN ((1,NULL),(2,'y')))":                                                              "",
		"PARTITION BY LIST (`id`) (PARTITION p0 VALUES IN (1), PARTITION p1 DEFAULT)":                                                                  "",
		"PARTITION BY HASH (`id`) PARTITIONS 3":                                                                                                        "",
		"PARTITION BY KEY (`id`) (PARTITION p0 ENGINE = InnoDB)":                                                                                       "",
		"PARTITION BY SYSTEM_TIME (PARTITION p0 HISTORY, PARTITION pn CURRENT)":                                                                        "",
	} {
		if got := outsideOf(text); got != want {
			t.Errorf("%s\n gives %s\n want  %s", text, got, want)
		}
	}
}

// A condition over columns that get other values is not known: the copy's own error stays.
func TestPartitionsOfChangedColumns(t *testing.T) {
	by := "PARTITION BY RANGE (n) (PARTITION p0 VALUES LESS THAN (10))"
	n := schema.Column{Name: "n", DataType: "int"}
	for _, kept := range []bool{true, false} {
		s := &Spec{Source: &schema.Table{Columns: []schema.Column{n}}, Shadow: &schema.Table{Columns: []schema.Column{n}, Partitioning: by},
			Columns: []Column{{From: n, To: n, Fits: true, Kept: kept}}}
		if got := partitionsOf(s); (got != nil) != kept {
			t.Errorf("kept: %v gives %v", kept, got)
		}
		if s.Source.Partitioning = by; kept && partitionsOf(s) != nil {
			t.Error("rows of the same partitions are looked at")
		}
	}
}
