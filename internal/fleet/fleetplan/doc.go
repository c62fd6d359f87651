// Package fleetplan groups the plans of one statement for many servers by their outcomes, and finds the servers whose table is
// defined in another way than that of most.
//
// Ask lets plans be made at the same time, within limits. Of is pure: it makes the report from the answers.
package fleetplan
