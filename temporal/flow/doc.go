// Package flow is a change set as a workflow of Temporal. The decisions are those of midstream's fleet/rollout, as in
// midstream serve: the workflow only brings the facts, and sends the orders.
//
// # Who does what
//
//   - The workflow Set has the state of a set. Its history is the store: an order is scheduled in the same transaction
//     as the decision. Time is that of the workflow, so a replay decides the same.
//   - Agents serve task queues, one for each value of the label queue or cell. They run the activities Plan, Order and
//     Watch. Watch sends what members report as signals.
//   - A Card is a workflow for each member. It only shows the member's state as search attributes; nothing waits for it.
//
// # What holds it up
//
// Nothing but the orders that no report has confirmed is sent again; a member ignores an order that it has had. So
// activities may run twice, late or not at all.
//
// The workflow is deterministic: it reads no clock, and goes through maps in the order of their keys.
package flow
