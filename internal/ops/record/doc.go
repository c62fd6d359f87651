// Package record holds what a run tells other programs: one JSON object for each event, its plan
// and its result, as --json prints them, the control socket streams them and a history keeps them.
// Names of events and fields are stable: fields may be added, none is renamed or dropped.
// docs/events.md is made of the doc tags.
package record
