// Package planning makes the plan of one statement: it reads the facts, asks the server what the
// facts leave open, and lets the plan decide.
//
// Make follows one sequence:
//
//	read the table and the facts    facts.Gather, schema.Load
//	decide                          plan.Make
//	ask the server                  native.Ask and Split, or native.Try
//	measure the swap                cutover.Measure
//	decide again                    plan.Make
//	calibrate, if configured        migration.Calibrate
//	decide a last time              plan.Make
//
// Make asks questions on empty copies of the table, and drops them at once. Only a calibration
// copies rows. A plan that refuses is a *plan.Refused. All other failures before the calibration
// are an *Error. It names the step at which planning failed.
package planning
