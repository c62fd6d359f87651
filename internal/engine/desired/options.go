package desired

import (
	"fmt"
	"slices"

	"midstream/internal/mysql/schema"
)

// unset are the clauses that remove an option. A diff can neither set, change nor remove an option
// that is not listed here.
var unset = map[string]string{
	"ENGINE":             "", // every table has one
	"AVG_ROW_LENGTH":     "AVG_ROW_LENGTH=0",
	"CHECKSUM":           "CHECKSUM=0",
	"COMPRESSION":        "COMPRESSION=''",
	"DELAY_KEY_WRITE":    "DELAY_KEY_WRITE=0",
	"ENCRYPTION":         "ENCRYPTION='N'",
	"KEY_BLOCK_SIZE":     "KEY_BLOCK_SIZE=0",
	"MAX_ROWS":           "MAX_ROWS=0",
	"MIN_ROWS":           "MIN_ROWS=0",
	"PACK_KEYS":          "PACK_KEYS=DEFAULT",
	"ROW_FORMAT":         "ROW_FORMAT=DEFAULT",
	"STATS_AUTO_RECALC":  "STATS_AUTO_RECALC=DEFAULT",
	"STATS_PERSISTENT":   "STATS_PERSISTENT=DEFAULT",
	"STATS_SAMPLE_PAGES": "STATS_SAMPLE_PAGES=DEFAULT",
}

// elsewhere are options that other code compares by their meaning.
var elsewhere = []string{"CHARSET", "COLLATE", "COMMENT"}

// tableOptions compares the options after the columns.
func (d *differ) tableOptions() {
	have, want := d.have.table, d.want.table
	if have.Collation != want.Collation {
		charset := optionOf(want.Options, "CHARSET")
		d.options = append(d.options, "DEFAULT CHARACTER SET "+charset.Value+" COLLATE "+want.Collation)
	}
	if d.have.comment != d.want.comment {
		d.options = append(d.options, "COMMENT="+schema.Literal(d.want.comment))
	}
	haveOptions, wantOptions := said(have.Options), said(want.Options)
	for _, o := range wantOptions {
		if o.Value != optionOf(haveOptions, o.Name).Value && !slices.Contains(elsewhere, o.Name) {
			d.option(o, o.Name+"="+o.Value)
		}
	}
	for _, o := range haveOptions {
		if optionOf(wantOptions, o.Name).Name == "" && !slices.Contains(elsewhere, o.Name) {
			d.option(o, unset[o.Name])
		}
	}
}

// said are the options without options that only state a default, such as ENCRYPTION='N'.
func said(options []schema.Option) []schema.Option {
	return slices.DeleteFunc(slices.Clone(options), func(o schema.Option) bool { return o.Name+"="+o.Value == unset[o.Name] })
}

func optionOf(options []schema.Option, name string) schema.Option {
	if i := slices.IndexFunc(options, func(o schema.Option) bool { return o.Name == name }); i >= 0 {
		return options[i]
	}
	return schema.Option{}
}

// option changes one option.
func (d *differ) option(o schema.Option, clause string) {
	if _, can := unset[o.Name]; !can {
		d.refuse(CodeOption, fmt.Sprintf("the table and the file differ in option %s (%s)", o.Name, o.Value),
			"a run compares it, and does not change it", "Make them equal, natively or in the file")
		return
	}
	d.options = append(d.options, clause)
}
