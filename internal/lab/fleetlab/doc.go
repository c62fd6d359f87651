// Package fleetlab has a fleet of simulated members that the real driver and the real core drive, for tests of pages and for measurements.
// It does not look for wrong decisions: package fleetsim does.
package fleetlab
