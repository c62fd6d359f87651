package plan

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestFilesAfter counts the files that an ALTER makes of ten.
func TestFilesAfter(t *testing.T) {
	for clauses, want := range map[string]int{
		"ADD COLUMN a INT COMMENT 'PARTITIONS 9'": 10,
		"REMOVE PARTITIONING":                     1,
		"PARTITION BY HASH (id) PARTITIONS 600":   600,
		"PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (1), PARTITION b VALUES LESS THAN MAXVALUE)":                2,
		"PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 7 (PARTITION `VALUES` VALUES LESS THAN MAXVALUE)": 7,
		"ADD PARTITION (PARTITION c VALUES LESS THAN (9))":                                                                 11,
		"ADD PARTITION PARTITIONS 4": 14,
	} {
		alter, err := ddl.Parse("ALTER TABLE s.t " + clauses)
		if err != nil {
			t.Errorf("%s: %v", clauses, err)
			continue
		}
		if got := filesAfter(alter, 10); got != want {
			t.Errorf("%s: %d files, want %d", clauses, got, want)
		}
	}
}

// TestL9_ASwapThatTakesTooLongIsRefused: files, foreign keys and triggers count. With more time
// allowed, the swap is possible. A resumed run and a rehearsal only get a warning.
func TestL9_ASwapThatTakesTooLongIsRefused(t *testing.T) {
	name := schema.Name{Schema: "s", Table: "t"}
	taken := []Taken{{Name: NamesOf(name).State, Comment: schema.MarkFor("state", name)}}
	ms := time.Millisecond
	for what, c := range map[string]struct {
		swap          *Swap
		options       Options
		taken         []Taken
		blocks, warns int
		fix           string
	}{
		"not looked at":         {},
		"short":                 {swap: &Swap{Rename: 100 * ms}},
		"long":                  {swap: &Swap{Shape: Shape{Files: 1200}, Rename: time.Second}, blocks: 1, fix: "--lock-work=2.1s"},
		"with little left":      {swap: &Swap{Shape: Shape{Files: 200}, Rename: 200 * ms}, blocks: 1, fix: "--lock-work=500ms"},
		"allowed":               {swap: &Swap{Shape: Shape{Files: 1200}, Rename: time.Second}, options: Options{Work: 2 * time.Second}},
		"many statements":       {swap: &Swap{Shape: Shape{Declared: 20, Settled: 40}, Declare: 200 * ms, Settle: 400 * ms}, blocks: 1, fix: "--lock-work=1.3s"},
		"many to settle":        {swap: &Swap{Shape: Shape{Declared: 10, Settled: 200}, Settle: 2 * time.Second}, blocks: 1, fix: "--lock-work=4.1s"},
		"far too long":          {swap: &Swap{Shape: Shape{Files: 16000}, Rename: time.Minute}, blocks: 1, fix: "Have fewer partitions"},
		"rehearsal":             {swap: &Swap{Shape: Shape{Files: 1200}, Rename: time.Second}, options: Options{Purpose: Rehearsing}, warns: 1},
		"an earlier run's work": {swap: &Swap{Shape: Shape{Files: 1200}, Rename: time.Second}, taken: taken, warns: 1},
	} {
		c2 := checker{
			facts:   &Facts{Swap: c.swap, Taken: c.taken},
			options: c.options,
			names:   NamesOf(name),
			table:   &schema.Table{Name: name},
		}
		c2.checkSwap()
		if len(c2.blocking) != c.blocks || len(c2.risks) != c.warns {
			t.Errorf("%s: refused for %v, warned of %v", what, c2.blocking, c2.risks)
		}
		if c.blocks > 0 && len(c2.blocking) > 0 && !strings.Contains(c2.blocking[0].Fix, c.fix) {
			t.Errorf("%s: the fix is %q, want %s", what, c2.blocking[0].Fix, c.fix)
		}
	}
}

// TestFilesOf counts the files of tables as the servers show them.
func TestFilesOf(t *testing.T) {
	for text, want := range map[string]int{
		"PARTITION BY HASH (`id`)\nPARTITIONS 16": 16,
		"PARTITION BY RANGE (`id`)\n(PARTITION a VALUES LESS THAN (1) COMMENT = 'ENGINE = x' ENGINE = InnoDB,\n PARTITION b VALUES LESS THAN MAXVALUE ENGINE = InnoDB)": 2,
		"PARTITION BY KEY ()\n(PARTITION p0 ENGINE = InnoDB,\n PARTITION p1 ENGINE = InnoDB)":                                                                           2,
		"PARTITION BY RANGE (id)\nSUBPARTITION BY HASH (id)\nSUBPARTITIONS 3\n(PARTITION a VALUES LESS THAN (1) ENGINE = InnoDB)":                                       3,
		"PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) (PARTITION a VALUES LESS THAN (1) (SUBPARTITION x ENGINE = InnoDB, SUBPARTITION y ENGINE = InnoDB))":         2,
	} {
		if got := filesOf(text); got != want {
			t.Errorf("%s: %d files, want %d", text, got, want)
		}
	}
}
