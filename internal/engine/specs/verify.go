package specs

import (
	"slices"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/schema"
)

// verifySpecOf derives the compared columns from the synced columns. It leaves out columns that the
// shadow computes from others, and new columns with a default that differs from row to row.
func verifySpecOf(sync *rowsync.Spec, shadow *schema.Table, columns *plan.Columns, server plan.Version) *verify.Spec {
	mappings := columns.Mappings
	spec := &verify.Spec{Sync: sync, Modern: !server.MariaDB && server.AtLeast(8, 0, 20)}
	spec.Staged = sync.ByValue // so that both sides have the same types
	for _, m := range mappings {
		spec.Staged = spec.Staged || !m.Exact
	}
	synced := map[string]bool{}
	for _, c := range sync.Columns {
		to, _ := shadow.Column(c.Shadow)
		spec.Columns = append(spec.Columns, verify.Column{Name: c.Shadow, Source: c.Expr, Type: to})
		synced[strings.ToLower(c.Shadow)] = true
		// which pads it, a CHAR under PAD_CHAR_TO_FULL_LENGTH
		spec.Staged = spec.Staged || (to.DataType == "binary" || to.DataType == "char") && c.Expr == "''"
	}
	tellConversions(spec, mappings)
	for i, name := range sync.ShadowKey {
		if !synced[strings.ToLower(name)] { // the shadow computes it
			to, _ := shadow.Column(name)
			spec.Columns = append(spec.Columns, verify.Column{Name: name, Source: schema.Quote(sync.Key.Names()[i]), Type: to})
		}
	}
	for _, c := range shadow.Columns {
		if slices.Contains(columns.Kept, c.Name) {
			continue
		}
		constant := c.Default != "" && !c.Computes() && !strings.HasPrefix(strings.ToUpper(c.Default), "CURRENT_TIMESTAMP")
		if !synced[strings.ToLower(c.Name)] && c.Generated == schema.NotGenerated && !c.AutoIncrement &&
			(constant || c.Default == "" && c.Nullable) {
			spec.Defaulted = append(spec.Defaulted, c)
		}
	}
	return spec
}

// tellConversions adds to each compared column how the ALTER changes the source's values.
func tellConversions(spec *verify.Spec, mappings []plan.Mapping) {
	for _, m := range mappings {
		for i, c := range spec.Columns {
			if strings.EqualFold(c.Name, m.Shadow) {
				spec.Columns[i].Exact, spec.Columns[i].Text = m.Exact, m.Text
			}
		}
	}
}
