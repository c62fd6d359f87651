// Package window has the parts of the week during which a run may copy rows, or change the table.
//
// A window is written as days and hours, in a time zone:
//
//	22:00-06:00                                    every day
//	Mon-Fri 22:00-06:00; Sat,Sun Europe/Berlin     weekday nights, and all of the weekend
//
// Hours that end before they begin continue after midnight, and belong to the day on which they
// begin. A time of day is the first moment at which the clock on the wall shows it or a later time.
// So, if a change of the clocks skips a time, the moment of the change counts instead. If the clock
// shows a time twice, the first time counts.
package window
