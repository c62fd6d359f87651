// Package knobs reads and prints the options of a simulation: numbers and booleans that a seed has drawn. Only tests use it.
package knobs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Set overrides fields of the struct that options points to, by a list of name=value, separated by commas. Names have any case.
func Set(options any, list string) error {
	v := reflect.ValueOf(options).Elem()
	for _, one := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		name, text, _ := strings.Cut(one, "=")
		field := v.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		if !field.IsValid() {
			return fmt.Errorf("no option is named %q", name)
		}
		if field.Kind() == reflect.Bool {
			on, err := strconv.ParseBool(text)
			if err != nil {
				return fmt.Errorf("option %s: %w", name, err)
			}
			field.SetBool(on)
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("option %s: %w", name, err)
		}
		field.SetInt(int64(n))
	}
	return nil
}

// Diff lists the options that differ from those that the seed has drawn, in the form that Set takes.
func Diff[T any](mine, drawn T) string {
	a, b := reflect.ValueOf(mine), reflect.ValueOf(drawn)
	var list []string
	for i := range a.NumField() {
		if a.Field(i).Interface() != b.Field(i).Interface() {
			list = append(list, fmt.Sprintf("%s=%v", strings.ToLower(a.Type().Field(i).Name), a.Field(i)))
		}
	}
	return strings.Join(list, ",")
}
