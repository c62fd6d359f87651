package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Options are the operator's wishes.
type Options struct {
	// Map declares the old column that a new one continues: new name to old name. An empty old name
	// means that the column is new. Map is needed only if the ALTER can't be read.
	Map map[string]string
	// Key names the key to follow. Defaults to the best one.
	Key string
	// Filter is a condition over the table's columns, in the usual dialect: only the rows that meet it are in the new table (--keep).
	// "" is all rows. The server has judged it.
	Filter string
	// Meet is about how many rows meet the filter, by the server's estimate; less than 0 if it has none.
	Meet int64
	// Set has expressions for columns of the new table, in the usual dialect. The server has judged them.
	Set Settings
	// Into is where the swap puts the new table.
	Into Into
	// Together are the other tables of the group; none for a run that is alone.
	Together []Partner
	// Again are the flags with which an undo is begun again if it is killed; nil for others.
	Again []string
	// Names are the names for artefacts. Gather must have got the same names.
	Names Wish
	// Purpose is what the run is for. Defaults to Altering.
	Purpose Purpose
	// Followed means that the run which works on the table is the one that would make this undo.
	Followed bool
	// Method is the method to use, whatever it costs; "" for the lightest within the limits.
	Method Method
	Limits Limits
	// Work is how long an attempt of the swap may work under the lock (--lock-work). Defaults to
	// 250 ms.
	Work time.Duration
	// Kills means that sessions that block a lock may be killed.
	Kills bool
	// Replicates means that the operator allows a server that is a replica of another one.
	Replicates bool
	// ZeroDates lets the ALTER bring defaults that are zero dates, although the server's sql_mode
	// refuses them.
	ZeroDates bool
	// Connections is the most connections to the server that a run opens; 0 skips the check.
	Connections int
	// Capture is the way of capturing changes; "" leaves it to the plan.
	Capture Capture
	// Back is for an undo; nil for other runs.
	Back *Back
	// KeepsUndo means that the run keeps what an undo needs.
	KeepsUndo bool
	// UndoWish is whether a method that can be undone is preferred. It counts if an undo is to be kept.
	UndoWish UndoWish
	// Unwanted is why the server's own method is not wanted, for a plan that must take a shadow; "" for no reason.
	Unwanted string
	// Checks means that rows are only looked at, and nothing is swapped.
	Checks bool
	// OpenUndo is until when an earlier change may be taken back; "" if it may not. OpenRedo means that this is a redo.
	OpenUndo string
	OpenRedo bool
	// UndoRuns is until when the undo of an earlier change is open that is at work, or was stopped; "" if there is none.
	UndoRuns string
	// Pace is the server's pace, if it was measured; otherwise the plan assumes one.
	Pace *Pace
}

// TakesZeroDates reports whether sessions that carry out the ALTER accept zero dates. They must if
// the table has such defaults, or the server accepts no statement about it (1067).
func (o Options) TakesZeroDates(table *schema.Table) bool { return o.ZeroDates || table.HasZeroDates() }

// Make decides what a run will do, or returns a *Refused that holds every reason against it. It is
// pure. If the server was not asked (Facts.Native), Make considers only a shadow.
func Make(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options) (*Plan, error) {
	c := checker{facts: facts, table: table, alter: alter, options: options, names: freeNames(table.Name, options, facts)}
	c.chooseCapture()
	chosen, reasons := c.chooseKey()
	c.followed = chosen.key
	c.checkServer()
	c.checkCapture()
	c.checkGrants()
	c.checkSight()
	c.checkKills()
	c.checkTable()
	c.checkNames()
	c.checkWish()
	c.checkFilter()
	c.checkSet()
	c.checkInto()
	c.checkConstraints()
	c.checkAlter()
	c.checkDependents()
	c.checkSwap()
	c.checkTogether()
	c.checkDistance()
	c.checkTrial()
	c.checkReaders()
	c.checkConnections()
	c.checkUsage()
	if chosen.key.Name == "" {
		c.noKey(reasons)
	}
	c.warnOfWhole(chosen.key)
	c.warnOfHelper(chosen.key)
	c.warnOfNulls(chosen)
	c.warnOfValues(chosen.key)
	c.warnOfPartitions(chosen.key)
	choice, err := c.choose()
	if err == nil {
		err = c.checkRecordGrants(choice)
	}
	if err != nil {
		return nil, err
	}
	c.warnOfBuild(choice)
	if choice.Method != MethodShadow && related(facts, table) && !adds(alter) && !dropsOnlyForeign(table, alter) {
		c.warn(
			CodeForeignKey,
			"the table has foreign keys, or is referred to",
			"the server was asked on a copy without them, and may refuse because of them "+
				"what it accepted there; then nothing was changed",
			"",
		)
	}
	if choice.Method != MethodShadow {
		c.risks = slices.DeleteFunc(c.risks, func(r Risk) bool { return slices.Contains(risksOfShadow, r.Code) })
		c.warnOfOwnGrants()
	}
	return &Plan{
		Purpose: options.Purpose, ZeroDates: options.TakesZeroDates(table), KeepsUndo: options.KeepsUndo,
		Choice:   choice,
		Capture:  c.captured,
		Swap:     facts.Swap,
		Native:   facts.Native,
		Pace:     options.paceOf(facts, table),
		Source:   table,
		Alter:    alter,
		Names:    c.names,
		Key:      chosen.key,
		Server:   serverOf(facts, c.captured),
		Map:      options.Map,
		Again:    options.Again,
		Together: c.together(),
		Filter:   options.Filter,
		Set:      options.Set,
		Into:     options.Into,
		Foreign:  c.foreign(),
		Dropped:  dropped(table, alter),
		Linked:   append(slices.Clone(facts.Foreign.Linked), facts.TriggerTables...),
		Acting:   c.acting,
		Added:    c.added,
		Back:     options.Back,
		Risks:    append(c.risks, c.scratched()...),
	}, nil
}

// warnOfBuild reports what happens to the server's own work if another session blocks it.
func (c *checker) warnOfBuild(choice Choice) {
	takesOver, without := "", ""
	if choice.Shadow {
		takesOver = fmt.Sprintf("the run copies to a new table instead, and keeps the old table as %s", c.names.Old.Table)
		if len(c.table.Checks) > 0 && !c.facts.Version.MariaDB {
			takesOver += ", and renames the CHECK constraints"
		}
		if c.alter.Algorithm != "" || c.alter.Lock != "" {
			takesOver += ", regardless of ALGORITHM and LOCK in the statement"
		}
		takesOver, without = ". After three times "+takesOver, ". Then "+takesOver
	}
	switch {
	case choice.Builds:
		c.warn(
			CodeBuild,
			"the server asks for the table's lock again at the end of its build",
			"if a session holds the table then for longer than a request may wait, "+
				"the build is lost and starts again; no other session waits longer"+takesOver,
			"Choose a time without long transactions, or --method=shadow, which waits",
		)
	case choice.Method == MethodCopy && choice.Work > 0:
		c.warn(
			CodeBuild, "the server copies the table and blocks writes",
			fmt.Sprintf("the run withdraws the statement after %s", choice.Work)+without,
			"--method=shadow lets the application write during the copy",
		)
	}
}

func serverOf(f *Facts, captured Captured) Server {
	var capture *CaptureServer
	if c := f.Capture; c != nil {
		capture = &CaptureServer{Address: c.Address, UUID: c.UUID, GTID: c.GTID, SyncBinlog: c.SyncBinlog}
	}
	return Server{
		Capture:         capture,
		Version:         f.Version,
		UUID:            f.UUID,
		ID:              f.ServerID,
		RenameUnderLock: f.Version.renamesUnderLock(),
		CommitOrder:     f.CommitOrder || captured.By == CaptureTrigger, // the log holds committed changes only
		LogBin:          f.LogBin,
		BinlogExpire:    f.BinlogExpire,
		BinlogManaged:   f.BinlogManaged,
		Formats:         f.BinlogFormat != "",
		Replicas:        f.replicas(),
		Followers:       f.Replicas,
		Group:           f.Group,
		MetadataLocks:   f.PerformanceSchema && f.MDLInstrument,

		PerformanceSchema: f.PerformanceSchema,
		BufferPool:        f.BufferPool,
		TimeZone:          f.TimeZone,
		Deciding:          f.Deciding,
		InUTC:             f.inUTC(),
		SQLMode:           f.SQLMode,
		RowImage:          f.RowImage,
		GTID:              f.GTID,
		AutoincLockMode:   f.AutoincLockMode,
		RequiresKeys:      f.RequiresKeys,
		LiteralNames:      f.Grants.LiteralNames,
	}
}

// shadowOnly are the codes of problems that block a shadow, and not the server's own methods.
var shadowOnly = []Code{
	CodeLogBin, CodeBinlogFormat, CodeBinlogFilter, CodeReplica, CodeCluster, CodeMDL, CodeEngine, CodeForeignKey,
	CodeReferenced, CodeTrigger, CodePartition, CodeTablespace, CodeSecondary, CodeNameTaken, CodeNames, CodeUndo, CodeLeftover,
	CodeCheckName,
	CodeSwap, CodeNoKey, CodeNumbers, CodeGrants, CodeVersion, CodeMap, CodeZeroDate, CodeCapture, CodeCaptureTrigger, CodeUnparsed,
	CodeOption, CodeDocuments, CodeKeyValues, CodeNoFill, CodeLiterals, CodeConnections, CodeOverlaps, CodeFormat,
}

// risksOfShadow are the codes of risks of a shadow, and of nothing else.
var risksOfShadow = []Code{
	CodeNoKey,
	CodePartitions,
	CodeUncompared,
	CodeSwap,
	CodeDistance,
	CodeCapture,
	CodeCommitOrder,
	CodeCaptureTrigger,
	CodeGrants,
	CodeAlgorithm,
	CodeNumbers,
	CodeCheckName,
	CodeNames,
	CodeConstraints,
	CodeTriggers,
	CodeCascades,
}

func (o Options) paceOf(facts *Facts, table *schema.Table) Pace {
	if o.Pace != nil {
		return *o.Pace
	}
	return AssumedPace(facts, table)
}

// choose takes a method, or returns a *Refused.
func (c *checker) choose() (Choice, error) {
	if len(c.blocking) == 0 && c.facts.Native == nil {
		switch wish := c.options.Method; {
		case wish == "":
		case c.options.Back.Adopts():
			return Choice{Method: MethodShadow, Why: "the undo goes back to the old table"}, nil
		case wish == MethodShadow && c.options.Filter != "":
			return Choice{Method: MethodShadow, Why: OnlyNewTable}, nil
		case wish == MethodShadow && len(c.options.Set) > 0:
			return Choice{Method: MethodShadow, Why: OnlyNewTableTakes}, nil
		case wish == MethodShadow && c.options.Into.Given():
			return Choice{Method: MethodShadow, Why: OnlyNewTableMoves}, nil
		case wish == MethodShadow:
			return Choice{Method: MethodShadow, Why: asked(wish)}, nil
		default:
			c.warn(
				CodeMethod,
				fmt.Sprintf("the run builds a shadow, although you asked for the method %s", wish),
				"the run did not ask the server: an earlier run "+
					"has started with a shadow, or an empty copy of the table would not answer it, or the account may not make one",
				"To remove what an earlier run left: midstream cleanup  "+c.table.Name.Argument(),
			)
		}
		return Choice{Method: MethodShadow}, nil
	}
	refused := &Refused{Table: c.table.Name.String(), Blocking: c.blocking, Others: c.risks}
	any := slices.ContainsFunc(c.blocking, func(r Risk) bool { return !slices.Contains(shadowOnly, r.Code) })
	if any || c.facts.Native == nil {
		return Choice{}, refused
	}
	var shadow error
	if len(c.blocking) > 0 {
		shadow = refused
	}
	return Choose(c.facts, c.table, c.alter, c.options, shadow)
}

// checker collects risks.
type checker struct {
	facts   *Facts
	table   *schema.Table
	alter   *ddl.Alter
	options Options
	names   Names
	// captured is how changes are to be captured.
	captured Captured

	followed Key // the followed key
	acting   []string
	added    []Added

	blocking []Risk
	risks    []Risk
}

// block notes a reason to refuse.
func (c *checker) block(code Code, what, why, fix string) {
	if strings.HasPrefix(fix, natively) {
		fix = c.forUndo(fix, "Take away what forbids it, such as a foreign key, and make it again after the undo")
	}
	if code == CodeGrants && c.facts.Scratch != "" { // the plan itself does not need them
		c.warn(code, what, why, fix)
		return
	}
	c.blocking = append(c.blocking, Risk{Code: code, What: what, Why: why, Fix: fix, Blocking: true})
}

// warn notes something to know.
func (c *checker) warn(code Code, what, why, fix string) {
	c.risks = append(c.risks, Risk{Code: code, What: what, Why: why, Fix: fix})
}

// forUndo is what to do about a change, or about an undo.
func (c *checker) forUndo(change, undo string) string {
	if c.options.Purpose == Undoing {
		return undo
	}
	return change
}

// natively begins what to do if only the server itself can make a change. No ALTER takes a change back.
const natively = "Run the ALTER natively"

// MayAsk reports whether the server may be asked how it would carry out the ALTER, and whether its
// answer would count. failed is the error of Make.
func MayAsk(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options, failed error) bool {
	inBinlog := facts.IsReplica && !facts.maySilence() && facts.Scratch == ""  // of a replica
	answersForTheTable := !related(facts, table) || !touchesKeys(table, alter) // a clone has no foreign keys
	return !inBinlog && answersForTheTable && mayCount(facts, alter, options, failed) && mayClone(facts, table, options)
}

// mayCount reports whether an answer of the server about its own method would count.
func mayCount(facts *Facts, alter *ddl.Alter, options Options, failed error) bool {
	var refused *Refused
	if failed != nil && !errors.As(failed, &refused) {
		return false
	}
	if refused != nil {
		// The server itself may be able to do only things that are refused for a shadow alone.
		ofTheTable := slices.ContainsFunc(refused.Blocking, func(r Risk) bool {
			return !slices.Contains(shadowOnly, r.Code) || slices.Contains(onTableItself, r.Code)
		})
		// Asking makes a table: a rehearsal that is refused because of what it would write must not.
		writesOnReplica := facts.Scratch == "" && (options.Purpose == RehearsingOnReplica || options.Purpose == Rehearsing && facts.IsReplica)
		if ofTheTable || writesOnReplica {
			return false
		}
	}
	locksOthers := alter.AddsForeignKey // the tables that it refers to
	understood := len(alter.Unknown) == 0
	return !locksOthers && understood && options.Method != MethodShadow
}

// touchesKeys reports whether the ALTER does what the server may refuse because of foreign keys, and what a question on a copy without
// them cannot leave out.
func touchesKeys(table *schema.Table, alter *ddl.Alter) bool {
	drops := alter.DropsForeignKey || DropsForeign(table, alter)
	return drops && (withoutForeign(table, alter) == nil || missingForeign(table, alter) != "") || len(alter.PartitionOps) > 0 || alter.Engine != ""
}

// MayTry reports whether a shadow is planned without a question to the server, and the server may
// be asked, on an empty copy, whether it takes the ALTER at all. Otherwise the run would find that
// out after it has begun.
func MayTry(p *Plan, facts *Facts, alter *ddl.Alter, options Options) bool {
	return p.Choice.Method == MethodShadow && facts.Native == nil && options.Purpose != RehearsingOnReplica &&
		!options.Back.Adopts() && (!facts.IsReplica || facts.Scratch != "") &&
		mayClone(facts, p.Source, options)
}

// mayClone reports whether an empty copy may be made: the account may make it, and no run was
// stopped on the table.
func mayClone(facts *Facts, table *schema.Table, options Options) bool {
	if facts.Scratch != "" {
		return true
	}
	lacks := slices.ContainsFunc(onClone, func(p string) bool { return !facts.Grants.On(p, table.Name.Schema, "") })
	return !stopped(facts, table, options) && !lacks
}

// stopped reports whether a run has left work on the table.
func stopped(facts *Facts, table *schema.Table, options Options) bool {
	names := append(options.Purpose.NamesOf(table.Name).All(), freeNames(table.Name, options, facts).All()...)
	return slices.ContainsFunc(facts.Taken, func(t Taken) bool {
		return schema.MarkedFor(t.Comment, table.Name) &&
			slices.ContainsFunc(names, func(n schema.Name) bool { return facts.sameTable(n, t.Name) })
	})
}

// related reports whether the table has foreign keys, or whether others refer to it.
func related(facts *Facts, table *schema.Table) bool {
	return len(table.ForeignKeys)+len(table.ReferencedBy)+len(facts.Referencing) > 0
}

// adds reports whether the ALTER leaves everything unchanged that a foreign key may need.
func adds(a *ddl.Alter) bool {
	return len(a.Renames)+len(a.Dropped)+len(a.Modified)+len(a.DroppedKeys)+len(a.HiddenKeys)+len(a.PartitionOps) == 0 &&
		!a.AddsPrimaryKey && !a.DropsPrimaryKey && !a.AddsForeignKey && !a.DropsForeignKey && !a.ConvertsCharset && a.Engine == ""
}

// onTableItself are the codes of problems that a clone can't show.
var onTableItself = []Code{CodePartition, CodeTablespace, CodeSecondary, CodeEngine, CodeCluster, CodeVersion}
