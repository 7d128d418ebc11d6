package v1alpha1

// The conditions of an OutboxRelay. Ready, Available, DatabaseReachable,
// SchemaValid, BrokerReachable, BacklogKnown, ScalingActive, BacklogWithinTarget
// and LeaseSafe are good when True and always present after the first reconcile.
// So are KeyOrderKept and NotificationsHeard where the spec asks for what they are
// about. FailedEvents is bad when True and always present, BacklogOverLimit where
// spec.backlog sets a limit. ScalingLimited says something and is neither.
// Reconciling and Stalled are bad when True, present only then, and never both.
const (
	// ConditionReady: configured, credentials usable, a relay runs. A backlog,
	// or an outage after the relays have started, does not make it False.
	ConditionReady = "Ready"
	// ConditionReconciling: a change is on its way. Present only when True.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: nothing goes on until a human changes something.
	// Present only when True.
	ConditionStalled = "Stalled"
	// ConditionDatabaseReachable: the relays can use the database. Unknown: no
	// relay has said yet.
	ConditionDatabaseReachable = "DatabaseReachable"
	// ConditionSchemaValid: the table is there and can serve as an outbox.
	// Unknown: no relay could look yet.
	ConditionSchemaValid = "SchemaValid"
	// ConditionBrokerReachable: the relays can publish to the topic. Unknown:
	// no relay has said yet.
	ConditionBrokerReachable = "BrokerReachable"
	// ConditionBacklogKnown: a relay has reported the backlog lately. False:
	// relays run, and none has; the status then keeps the last known values and
	// the size of the fleet is held.
	ConditionBacklogKnown = "BacklogKnown"
	// ConditionKeyOrderKept: the topic has not grown within the last hour. False:
	// it has, so that keys may have moved to other partitions, where a consumer
	// that lags reads newer events before older ones. Unknown: no relay has said
	// how many partitions there are. Present only in ordering mode Key.
	ConditionKeyOrderKept = "KeyOrderKept"
	// ConditionNotificationsHeard: the relays hear notifications of wakeUp.channel,
	// and new rows come with one. False: the table is polled as in mode Poll.
	// Unknown: no relay has said yet. Present only in wakeUp mode Notify.
	ConditionNotificationsHeard = "NotificationsHeard"
	// ConditionAvailable: at least one relay is ready, or none shall run. Unknown:
	// there is no Deployment yet.
	ConditionAvailable = "Available"
	// ConditionScalingActive: the size follows the backlog, or spec.replicas in mode
	// Manual. False: it is held for a reason that lies outside of the backlog.
	// Unknown: the backlog is not known, so that it is held.
	ConditionScalingActive = "ScalingActive"
	// ConditionScalingLimited: something keeps the size from what is recommended.
	ConditionScalingLimited = "ScalingLimited"
	// ConditionBacklogWithinTarget: the oldest row has not been due for longer than
	// the target. Unknown: nobody has looked lately.
	ConditionBacklogWithinTarget = "BacklogWithinTarget"
	// ConditionBacklogOverLimit: more waits, or the table is larger, than
	// spec.backlog allows. Present only where that sets a limit.
	ConditionBacklogOverLimit = "BacklogOverLimit"
	// ConditionLeaseSafe: the lease covers the relays' own times and pauses. Unknown:
	// they have not been seen at work yet.
	ConditionLeaseSafe = "LeaseSafe"
	// ConditionFailedEvents: rows are FAILED and wait for somebody. Unknown: nobody
	// has looked lately.
	ConditionFailedEvents = "FailedEvents"
)

// The conditions of an OutboxReplay are Ready (True: it has ended well),
// Reconciling, Stalled and Complete, which says how far it is: True when nothing
// is left to be done.
const (
	// ConditionComplete: every selected row has been looked at.
	ConditionComplete = "Complete"
)
