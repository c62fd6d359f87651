package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Options are the operator's wishes.
type Options struct {
	// Map tells which old column a new one continues: new name to old name. An empty old
	// name says that the column is new. Needed only where the ALTER can't be read.
	Map map[string]string
	// Key names the key to follow. Defaults to the best one.
	Key string
	// Names are those to give to artefacts. Gather must have been told of them.
	Names Wish
	// Purpose is what the run is for. Defaults to Altering.
	Purpose Purpose
	// Method is the one to take whatever it costs; "" for the lightest within the limits.
	Method Method
	Limits Limits
	// Work is for how long an attempt of the swap may work under the lock (--lock-work). Defaults to 250 ms.
	Work time.Duration
	// Kills says that sessions in the way of a lock may be ended.
	Kills bool
	// Replicates says that the server may be a replica of another one: it is meant all the same.
	Replicates bool
	// ZeroDates lets the ALTER bring defaults that are zero dates, though the server's sql_mode takes none.
	ZeroDates bool
	// Connections is how many connections to the server a run takes at most; 0 if that is not to be checked.
	Connections int
	// Capture says how changes are captured; "" leaves it to the plan.
	Capture Capture
	// Pace is what the server does, where it was measured; else it is assumed.
	Pace *Pace
}

// TakesZeroDates says that sessions which carry out the ALTER take zero dates: so they must where
// the table has such defaults, or the server takes no statement about it (1067).
func (o Options) TakesZeroDates(table *schema.Table) bool { return o.ZeroDates || table.HasZeroDates() }

// Make decides what a run will do, or returns a *Refused that holds every reason why
// it can't. It is pure. Where the server was not asked (Facts.Native), only a shadow is
// thought of.
func Make(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options) (*Plan, error) {
	c := checker{facts: facts, table: table, alter: alter, options: options, names: freeNames(table.Name, options, facts)}
	c.chooseCapture()
	chosen, reasons := c.chooseKey()
	c.followed = chosen.key
	c.checkServer()
	c.checkCapture()
	c.checkGrants(chosen)
	c.checkKills()
	c.checkTable()
	c.checkNames()
	c.checkWish()
	c.checkConstraints()
	c.checkAlter()
	c.checkDependents()
	c.checkSwap()
	c.checkTrial()
	c.checkConnections()
	if chosen.key.Name == "" {
		c.noKey(reasons)
	}
	choice, err := c.choose()
	if err != nil {
		return nil, err
	}
	c.warnOfBuild(choice)
	if choice.Method != MethodShadow && related(facts, table) && !adds(alter) {
		c.warn(
			CodeForeignKey,
			"the table has foreign keys, or is referred to",
			"the server was asked on a copy without them, and may refuse for their sake "+
				"what it took there: then nothing has happened",
			"",
		)
	}
	if choice.Method != MethodShadow {
		c.risks = slices.DeleteFunc(c.risks, func(r Risk) bool { return slices.Contains(risksOfShadow, r.Code) })
	}
	return &Plan{
		Purpose: options.Purpose, ZeroDates: options.TakesZeroDates(table),
		Choice:  choice,
		Capture: c.captured,
		Swap:    facts.Swap,
		Native:  facts.Native,
		Pace:    options.paceOf(facts, table),
		Source:  table,
		Alter:   alter,
		Names:   c.names,
		Key:     chosen.key,
		Server:  serverOf(facts, c.captured),
		Map:     options.Map,
		Foreign: c.foreign(),
		Dropped: dropped(table, alter),
		Linked:  append(slices.Clone(facts.Foreign.Linked), facts.TriggerTables...),
		Acting:  c.acting,
		Risks:   c.risks,
	}, nil
}

// warnOfBuild tells what becomes of the server's own work if somebody is in its way.
func (c *checker) warnOfBuild(choice Choice) {
	takesOver, without := "", ""
	if choice.Shadow {
		takesOver = fmt.Sprintf("a shadow takes over, which ends with the former table as %s", c.names.Old.Table)
		if len(c.table.Checks) > 0 && !c.facts.Version.MariaDB {
			takesOver += ", and gives the CHECK constraints names of its own"
		}
		if c.alter.Algorithm != "" || c.alter.Lock != "" {
			takesOver += ", whatever the statement says of ALGORITHM and LOCK"
		}
		takesOver, without = ". After three times "+takesOver, ". Then "+takesOver
	}
	switch {
	case choice.Builds:
		c.warn(
			CodeBuild,
			"the server asks for the table's lock again when it has built",
			"who holds the table then for longer than a request may wait "+
				"has all that it has built withdrawn, and it builds anew; nobody else waits longer for it"+takesOver,
			"Choose a time without long transactions on the table, or --method=shadow, which waits with its work kept",
		)
	case choice.Method == MethodCopy && choice.Work > 0:
		c.warn(
			CodeBuild, "the server copies the table while nobody can write to it",
			fmt.Sprintf("it is withdrawn if that takes longer than %s", choice.Work)+without,
			"--method=shadow lets the application write meanwhile",
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
		CommitOrder:     f.CommitOrder || captured.By == CaptureTrigger, // what can be read in the log is committed
		LogBin:          f.LogBin,
		Formats:         f.BinlogFormat != "",
		Replicas:        f.replicas(),
		Followers:       f.Replicas,
		Group:           f.Group,
		MetadataLocks:   f.PerformanceSchema && f.MDLInstrument,

		PerformanceSchema: f.PerformanceSchema,
		BufferPool:        f.BufferPool,
		TimeZone:          f.TimeZone,
		InUTC:             f.inUTC(),
		SQLMode:           f.SQLMode,
		RowImage:          f.RowImage,
		GTID:              f.GTID,
		AutoincLockMode:   f.AutoincLockMode,
		LiteralNames:      f.Grants.LiteralNames,
	}
}

// shadowOnly are the codes of what stands in the way of a shadow, and not of the server's own
// methods.
var shadowOnly = []Code{
	CodeLogBin, CodeBinlogFormat, CodeBinlogFilter, CodeReplica, CodeCluster, CodeMDL, CodeEngine, CodeForeignKey,
	CodeReferenced, CodeTrigger, CodePartition, CodeTablespace, CodeSecondary, CodeNameTaken, CodeNames, CodeLeftover, CodeCheckName,
	CodeSwap, CodeNoKey, CodeNumbers, CodeGrants, CodeVersion, CodeMap, CodeZeroDate, CodeCapture, CodeCaptureTrigger, CodeUnparsed,
	CodeOption, CodeDocuments, CodeKeyValues, CodeNoFill, CodeLiterals, CodeConnections, CodeOverlaps, CodeFormat,
}

// risksOfShadow are the codes of what is to be known of a shadow, and of nothing else.
var risksOfShadow = []Code{
	CodeUncompared,
	CodeSwap,
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
		switch wish := c.options.Method; wish {
		case "":
		case MethodShadow:
			return Choice{Method: MethodShadow, Why: "it was asked for"}, nil
		default:
			c.warn(
				CodeMethod,
				fmt.Sprintf("a shadow is built, although the method %s was asked for", wish),
				"the server is not asked whether it has that: an earlier run "+
					"has begun with a shadow, or no empty copy of the table would tell, or the account may not make one",
				"To give up what an earlier run has left: midstream cleanup "+c.table.Name.Argument(),
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

	followed Key // the key that is
	acting   []string

	blocking []Risk
	risks    []Risk
}

// block notes a reason to refuse.
func (c *checker) block(code Code, what, why, fix string) {
	c.blocking = append(c.blocking, Risk{Code: code, What: what, Why: why, Fix: fix, Blocking: true})
}

// warn notes something to know.
func (c *checker) warn(code Code, what, why, fix string) {
	c.risks = append(c.risks, Risk{Code: code, What: what, Why: why, Fix: fix})
}

// MayAsk says that the server may be asked how it would carry out the ALTER, and that its answer
// would count. failed is the error of Make.
func MayAsk(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options, failed error) bool {
	var refused *Refused
	if failed != nil && !errors.As(failed, &refused) {
		return false
	}
	if refused != nil {
		// Only what is refused of a shadow may be possible for the server itself.
		ofTheTable := slices.ContainsFunc(refused.Blocking, func(r Risk) bool {
			return !slices.Contains(shadowOnly, r.Code) || slices.Contains(onTableItself, r.Code)
		})
		// Asking makes a table: a rehearsal that is refused because of what it would write must not.
		writesOnReplica := options.Purpose == RehearsingOnReplica || options.Purpose == Rehearsing && facts.IsReplica
		if ofTheTable || writesOnReplica {
			return false
		}
	}
	locksOthers := alter.AddsForeignKey                                        // the tables that it refers to
	inBinlog := facts.IsReplica && !facts.maySilence()                         // of a replica
	answersForTheTable := !related(facts, table) || !touchesKeys(table, alter) // a clone has no foreign keys
	understood := len(alter.Unknown) == 0
	return !locksOthers && !inBinlog && answersForTheTable && understood &&
		options.Method != MethodShadow && mayClone(facts, table, options)
}

// touchesKeys reports whether the ALTER does what the server may refuse because of foreign keys.
func touchesKeys(table *schema.Table, alter *ddl.Alter) bool {
	return alter.DropsForeignKey || len(dropped(table, alter)) > 0 || len(alter.PartitionOps) > 0 || alter.Engine != ""
}

// MayTry says that a shadow is planned without a question to the server, and that the server may be
// asked on an empty copy whether it takes the ALTER at all: else the run would find out when it has
// begun.
func MayTry(p *Plan, facts *Facts, alter *ddl.Alter, options Options) bool {
	return p.Choice.Method == MethodShadow && facts.Native == nil && options.Purpose != RehearsingOnReplica && !facts.IsReplica &&
		!alter.AddsForeignKey && mayClone(facts, p.Source, options)
}

// mayClone says that an empty copy may be made: the account may, and no run was stopped on the table.
func mayClone(facts *Facts, table *schema.Table, options Options) bool {
	names := append(options.Purpose.NamesOf(table.Name).All(), freeNames(table.Name, options, facts).All()...)
	stopped := slices.ContainsFunc(facts.Taken, func(t Taken) bool {
		return schema.MarkedFor(t.Comment, table.Name) &&
			slices.ContainsFunc(names, func(n schema.Name) bool { return facts.sameTable(n, t.Name) })
	})
	lacks := slices.ContainsFunc(onClone, func(p string) bool { return !facts.Grants.On(p, table.Name.Schema, "") })
	return !stopped && !lacks
}

// related says that the table has foreign keys, or that others refer to it.
func related(facts *Facts, table *schema.Table) bool {
	return len(table.ForeignKeys)+len(table.ReferencedBy)+len(facts.Referencing) > 0
}

// adds says that the ALTER leaves alone all that a foreign key may stand on.
func adds(a *ddl.Alter) bool {
	return len(a.Renames)+len(a.Dropped)+len(a.Modified)+len(a.DroppedKeys)+len(a.HiddenKeys)+len(a.PartitionOps) == 0 &&
		!a.AddsPrimaryKey && !a.DropsPrimaryKey && !a.AddsForeignKey && !a.DropsForeignKey && !a.ConvertsCharset && a.Engine == ""
}

// onTableItself are the codes of what a clone can't tell.
var onTableItself = []Code{CodePartition, CodeTablespace, CodeSecondary, CodeEngine, CodeCluster, CodeVersion}
