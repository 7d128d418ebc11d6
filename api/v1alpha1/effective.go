package v1alpha1

import (
	"cmp"
	"strings"
)

const (
	defaultSchema               = "public"
	defaultLeaseDurationSeconds = 30
	defaultMinReplicas          = 1
	defaultMaxReplicas          = 10
	defaultTargetAgeSeconds     = 30
	defaultCatchUpSeconds       = 300
	defaultUtilizationPercent   = 80
	defaultUpWindowSeconds      = 30
	defaultDownWindowSeconds    = 300
	defaultCooldownSeconds      = 60
)

// EffectiveTable is the table that spec.table or spec.tableRef names.
func (s *OutboxRelaySpec) EffectiveTable() TableReference {
	if s.TableRef != nil {
		return *s.TableRef
	}
	if schema, name, found := strings.Cut(s.Table, "."); found {
		return TableReference{Schema: schema, Name: name}
	}
	return TableReference{Schema: defaultSchema, Name: s.Table}
}

// EffectiveLeaseDurationSeconds is LeaseDurationSeconds, or its default.
func (s *OutboxRelaySpec) EffectiveLeaseDurationSeconds() int32 {
	return orDefault(s.LeaseDurationSeconds, defaultLeaseDurationSeconds)
}

// Effective is the policy with its defaults filled in. It never returns a
// maximum below the minimum, whatever was stored.
func (s Scaling) Effective() EffectiveScaling {
	e := EffectiveScaling{
		Mode:                    cmp.Or(s.Mode, ScalingAuto),
		MinReplicas:             orDefault(s.MinReplicas, defaultMinReplicas),
		MaxReplicas:             orDefault(s.MaxReplicas, defaultMaxReplicas),
		TargetBacklogAgeSeconds: orDefault(s.TargetBacklogAgeSeconds, defaultTargetAgeSeconds),
		CatchUpSeconds:          orDefault(s.CatchUpSeconds, defaultCatchUpSeconds),
		UtilizationPercent:      orDefault(s.UtilizationPercent, defaultUtilizationPercent),
		ScaleUpWindowSeconds:    valueOr(s.ScaleUpWindowSeconds, defaultUpWindowSeconds),
		ScaleDownWindowSeconds:  orDefault(s.ScaleDownWindowSeconds, defaultDownWindowSeconds),
		CooldownSeconds:         valueOr(s.CooldownSeconds, defaultCooldownSeconds),
		OnIneffectiveScaleUp:    cmp.Or(s.OnIneffectiveScaleUp, IneffectiveRevert),
	}
	e.MaxReplicas = max(e.MaxReplicas, e.MinReplicas)
	return e
}

func orDefault(value, fallback int32) int32 {
	if value == 0 {
		return fallback
	}
	return value
}

func valueOr(value *int32, fallback int32) int32 {
	if value == nil {
		return fallback
	}
	return *value
}
