// Package record holds the records of a run for other programs: one JSON object for each event,
// for the plan and for the result.
// Names of events and fields are stable: fields may be added, none is renamed or dropped.
// docs/events.md is made of the doc tags.
package record
