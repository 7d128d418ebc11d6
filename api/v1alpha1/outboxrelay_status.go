package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OutboxRelayStatus is what the operator knows. What is absent is unknown,
// never zero. Numbers are as they were at the last write: an object is written
// when a condition or a decision changes, when a number has doubled or halved
// (at most once in 30 s), and else once in ten minutes.
type OutboxRelayStatus struct {
	// conditions are described in conditions.go, each with its polarity.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that was processed last;
	// -1 before the first time.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is how many relay pods there are.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is how many of them are ready. A relay is ready once it has
	// claimed and reached the broker, and stays so in an outage.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// selector selects the relay pods, in the form of a label selector string.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Selector string `json:"selector,omitempty"`

	// image is the image that the relays are told to run.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Image string `json:"image,omitempty"`

	// limits name what the table cannot record, so that what needs it is off:
	// attempts, failed, age, token. Absent: nothing, or nobody has said yet.
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=attempts;failed;age;token
	// +optional
	Limits []string `json:"limits,omitempty"`

	// topic is what is known of spec.topic. Absent: nothing yet, or spec has none.
	// +optional
	Topic *TopicStatus `json:"topic,omitempty"`

	// backlog is the last look at the table that is known.
	// +optional
	Backlog *BacklogStatus `json:"backlog,omitempty"`

	// scaling is the last decision about the size of the fleet.
	// +optional
	Scaling *ScalingStatus `json:"scaling,omitempty"`

	// lease is what the relays' own times say of spec.leaseDurationSeconds.
	// +optional
	Lease *LeaseStatus `json:"lease,omitempty"`
}

// TopicStatus is what the relays have last said of spec.topic.
type TopicStatus struct {
	// name is the topic that the numbers are of.
	// +kubebuilder:validation:MaxLength=249
	// +optional
	Name string `json:"name,omitempty"`

	// partitions is how many partitions it has.
	// +optional
	Partitions *int32 `json:"partitions,omitempty"`

	// partitionsBefore is how many it had before it was last seen to grow.
	// +optional
	PartitionsBefore *int32 `json:"partitionsBefore,omitempty"`

	// partitionsAddedAt is when it was last seen to grow.
	// +optional
	PartitionsAddedAt *metav1.Time `json:"partitionsAddedAt,omitempty"`
}

// BacklogStatus is one look at the table, from the newest report of a relay.
// While condition BacklogKnown is not True, the ages mean "at least".
type BacklogStatus struct {
	// oldestEligibleAgeSeconds is how long the oldest row that could be claimed
	// has been due. It is what the size of the fleet follows.
	// +optional
	OldestEligibleAgeSeconds *int64 `json:"oldestEligibleAgeSeconds,omitempty"`

	// oldestUnsentAgeSeconds is how long ago the oldest row was inserted that is
	// neither SENT nor FAILED; delayed retries count.
	// +optional
	OldestUnsentAgeSeconds *int64 `json:"oldestUnsentAgeSeconds,omitempty"`

	// eligible is how many rows could be claimed. It stops at countLimit.
	// +optional
	Eligible *int64 `json:"eligible,omitempty"`

	// inFlight is how many rows are claimed. It stops at countLimit.
	// +optional
	InFlight *int64 `json:"inFlight,omitempty"`

	// expiredLeases is how many rows are claimed by relays that are gone. It
	// stops at countLimit.
	// +optional
	ExpiredLeases *int64 `json:"expiredLeases,omitempty"`

	// failed is how many rows are FAILED and wait for somebody. It stops at
	// countLimit.
	// +optional
	Failed *int64 `json:"failed,omitempty"`

	// countLimit is where the counts stop: one that equals it means "or more".
	// +optional
	CountLimit *int64 `json:"countLimit,omitempty"`

	// arrivalsPerMinute is how many rows were inserted between the last two looks,
	// per minute, those of rolled-back transactions included.
	// +optional
	ArrivalsPerMinute *int64 `json:"arrivalsPerMinute,omitempty"`

	// publishedPerMinute is how many events all relays together published in
	// the last minute.
	// +optional
	PublishedPerMinute *int64 `json:"publishedPerMinute,omitempty"`

	// reclaimedPerMinute is how many rows were taken over from relays whose
	// lease had run out, in the last minute.
	// +optional
	ReclaimedPerMinute *int64 `json:"reclaimedPerMinute,omitempty"`

	// rejectedStalePerMinute is how many late writes the fence refused in the
	// last minute.
	// +optional
	RejectedStalePerMinute *int64 `json:"rejectedStalePerMinute,omitempty"`

	// tableBytes is how large the table is on disk, with its indexes.
	// +optional
	TableBytes *int64 `json:"tableBytes,omitempty"`

	// sampledAt is when the look was taken.
	// +optional
	SampledAt *metav1.Time `json:"sampledAt,omitempty"`
}

// ScalingStatus is the last decision about the size of the fleet.
type ScalingStatus struct {
	// desiredReplicas is how many relays there shall be.
	// +optional
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`

	// recommendedReplicas is how many there would be without limits.
	// +optional
	RecommendedReplicas *int32 `json:"recommendedReplicas,omitempty"`

	// limitedBy says what keeps desiredReplicas from recommendedReplicas:
	// KeyParallelism, MaxDatabaseConnections, MaxReplicas, MinReplicas,
	// OperatorLimit or TableOwner. Absent: nothing.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	LimitedBy string `json:"limitedBy,omitempty"`

	// reason is the decision in one word.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`

	// message is the decision in one sentence with numbers.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// perRelayPerMinute is how many events one busy relay is known to publish per
	// minute. Absent: none has been busy yet.
	// +optional
	PerRelayPerMinute *int64 `json:"perRelayPerMinute,omitempty"`

	// estimatedDrainSeconds is how long the backlog takes at the present rates.
	// Absent: it is not known, or the backlog does not fall.
	// +optional
	EstimatedDrainSeconds *int64 `json:"estimatedDrainSeconds,omitempty"`

	// activeKeys is how many keys the waiting rows have, in ordering mode Key. It
	// stops at backlog.countLimit.
	// +optional
	ActiveKeys *int64 `json:"activeKeys,omitempty"`

	// lastScaleTime is when desiredReplicas last changed.
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`

	// lastScaleFrom is what desiredReplicas was before that.
	// +optional
	LastScaleFrom *int32 `json:"lastScaleFrom,omitempty"`

	// lastScaleTo is what it became.
	// +optional
	LastScaleTo *int32 `json:"lastScaleTo,omitempty"`

	// scaleUpBlockedUntil is when relays may be added again, after some that were
	// added did not help.
	// +optional
	ScaleUpBlockedUntil *metav1.Time `json:"scaleUpBlockedUntil,omitempty"`

	// historyCompleteAt is from when on the operator has watched for long enough
	// to take relays away. Absent: since before the last write.
	// +optional
	HistoryCompleteAt *metav1.Time `json:"historyCompleteAt,omitempty"`

	// recent are the last changes of desiredReplicas, the newest first.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Recent []ScaleChange `json:"recent,omitempty"`

	// effective is the policy with its defaults filled in.
	// +optional
	Effective *EffectiveScaling `json:"effective,omitempty"`
}

// ScaleChange is a change of desiredReplicas.
type ScaleChange struct {
	// time is when it was decided.
	// +required
	Time metav1.Time `json:"time,omitzero"`

	// from is the size before.
	// +required
	From int32 `json:"from"`

	// to is the size after.
	// +required
	To int32 `json:"to"`

	// reason is the decision in one word.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
}

// LeaseStatus says what spec.leaseDurationSeconds has to cover. Times are the
// slowest of all relays lately, in milliseconds.
type LeaseStatus struct {
	// claimP99Milliseconds is what 99 of 100 claims take at most.
	// +optional
	ClaimP99Milliseconds *int64 `json:"claimP99Milliseconds,omitempty"`

	// sendP99Milliseconds is what 99 of 100 sends of a batch take at most.
	// +optional
	SendP99Milliseconds *int64 `json:"sendP99Milliseconds,omitempty"`

	// settleP99Milliseconds is what 99 of 100 records of a result take at most.
	// +optional
	SettleP99Milliseconds *int64 `json:"settleP99Milliseconds,omitempty"`

	// pauseMaxMilliseconds is the longest time for which a relay did not run
	// although it wanted to.
	// +optional
	PauseMaxMilliseconds *int64 `json:"pauseMaxMilliseconds,omitempty"`

	// shortestSafeSeconds is the shortest lease that covers these times.
	// +optional
	ShortestSafeSeconds *int64 `json:"shortestSafeSeconds,omitempty"`

	// recoverySeconds is how long the rows of a relay that dies wait at most, with
	// the lease as it is.
	// +optional
	RecoverySeconds *int64 `json:"recoverySeconds,omitempty"`
}

// EffectiveScaling is a scaling policy with its defaults filled in.
type EffectiveScaling struct {
	// mode is Auto or Manual.
	// +kubebuilder:validation:MaxLength=64
	Mode string `json:"mode"`
	// minReplicas is the least number of relays.
	MinReplicas int32 `json:"minReplicas"`
	// maxReplicas is the greatest number of relays.
	MaxReplicas int32 `json:"maxReplicas"`
	// targetBacklogAgeSeconds is the age above which the fleet grows.
	TargetBacklogAgeSeconds int32 `json:"targetBacklogAgeSeconds"`
	// catchUpSeconds is within what time a backlog shall be worked off.
	CatchUpSeconds int32 `json:"catchUpSeconds"`
	// utilizationPercent is how busy relays shall be.
	UtilizationPercent int32 `json:"utilizationPercent"`
	// scaleUpWindowSeconds is how long the age must have been over the target.
	ScaleUpWindowSeconds int32 `json:"scaleUpWindowSeconds"`
	// scaleDownWindowSeconds is how long fewer relays must have been enough.
	ScaleDownWindowSeconds int32 `json:"scaleDownWindowSeconds"`
	// cooldownSeconds is the least time between two changes.
	CooldownSeconds int32 `json:"cooldownSeconds"`
	// onIneffectiveScaleUp is what becomes of relays that did not help.
	// +kubebuilder:validation:MaxLength=64
	OnIneffectiveScaleUp string `json:"onIneffectiveScaleUp"`
}
