package v1alpha1

// The values of Scaling.Mode.
const (
	// ScalingAuto: the operator decides the size.
	ScalingAuto = "Auto"
	// ScalingManual: spec.replicas is the size.
	ScalingManual = "Manual"
)

// The values of Scaling.OnIneffectiveScaleUp.
const (
	// IneffectiveRevert takes relays that did not help away again.
	IneffectiveRevert = "Revert"
	// IneffectiveHold keeps them, and adds no more for a while.
	IneffectiveHold = "Hold"
	// IneffectiveIgnore goes on adding.
	IneffectiveIgnore = "Ignore"
)

// Scaling says how the size of the fleet follows the backlog. The number itself
// is in status and in the Deployment, never in spec.
//
// +kubebuilder:validation:XValidation:rule="(has(self.minReplicas) ? self.minReplicas : 1) <= (has(self.maxReplicas) ? self.maxReplicas : 10)",message="maxReplicas (10 when unset) must not be less than minReplicas (1 when unset): write both"
type Scaling struct {
	// mode is Auto (the operator decides the size) or Manual (spec.replicas is the
	// size, and the decision only advice). Unset: Auto.
	// +kubebuilder:validation:Enum=Auto;Manual
	// +optional
	Mode string `json:"mode,omitempty"`

	// minReplicas is the least number of relays in mode Auto. Unset: 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the greatest number of relays in mode Auto. Unset: 10.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxReplicas int32 `json:"maxReplicas,omitempty"`

	// maxDatabaseConnections is how many connections to the database the fleet may
	// need, which limits its size. Unset: no limit.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxDatabaseConnections int32 `json:"maxDatabaseConnections,omitempty"`

	// targetBacklogAgeSeconds is how long the oldest row may have been due
	// before the fleet grows. Unset: 30.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TargetBacklogAgeSeconds int32 `json:"targetBacklogAgeSeconds,omitempty"`

	// catchUpSeconds is within what time a backlog shall be worked off, which says
	// how many relays it takes. Unset: 300.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	// +optional
	CatchUpSeconds int32 `json:"catchUpSeconds,omitempty"`

	// utilizationPercent is how busy relays shall be, in percent of what one is
	// known to publish. Unset: 80.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=100
	// +optional
	UtilizationPercent int32 `json:"utilizationPercent,omitempty"`

	// scaleUpWindowSeconds is how long the age must have been over the target
	// before the fleet grows. 0: at once. Unset: 30.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	ScaleUpWindowSeconds *int32 `json:"scaleUpWindowSeconds,omitempty"`

	// scaleDownWindowSeconds is how long fewer relays must have been enough
	// before the fleet shrinks. Unset: 300.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +optional
	ScaleDownWindowSeconds int32 `json:"scaleDownWindowSeconds,omitempty"`

	// cooldownSeconds is the least time between two changes of the size, in
	// either direction. 0: none. Unset: 60.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	CooldownSeconds *int32 `json:"cooldownSeconds,omitempty"`

	// onIneffectiveScaleUp says what becomes of relays that were added and did not
	// help: Revert (they go again, and none is added for half an hour), Hold (they
	// stay, and none is added) or Ignore. Unset: Revert.
	// +kubebuilder:validation:Enum=Revert;Hold;Ignore
	// +optional
	OnIneffectiveScaleUp string `json:"onIneffectiveScaleUp,omitempty"`
}

// BacklogLimits say when condition BacklogOverLimit is True.
type BacklogLimits struct {
	// limitRows is how many rows may wait to be claimed. Unset: any number.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	// +optional
	LimitRows int64 `json:"limitRows,omitempty"`

	// limitBytes is how large the table may be on disk, in bytes, with its indexes
	// and the rows that are published already. Unset: any size.
	// +kubebuilder:validation:Minimum=1048576
	// +kubebuilder:validation:Maximum=1000000000000000
	// +optional
	LimitBytes int64 `json:"limitBytes,omitempty"`
}
