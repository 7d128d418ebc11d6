package controllers

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// The reasons of KeyOrderKept beside reasonNotReported.
const (
	reasonPartitionsUnchanged = "PartitionsUnchanged"
	reasonPartitionsAdded     = "PartitionsAdded"
	reasonTopicsOfRows        = "TopicsOfRows"
)

// orderUnsettled is for how long consumers may still have events to read that were
// published before the topic grew.
const orderUnsettled = time.Hour

// setTopic keeps the last known number. Of relays that still run with other
// settings the topic may be another one.
func (s *scope) setTopic(status *v1alpha1.OutboxRelayStatus) {
	name := s.relay.Spec.Topic
	if status.Topic != nil && status.Topic.Name != name {
		status.Topic = nil
	}
	now := int32(s.observation.Partitions(s.settings.Hash)) //nolint:gosec // It is clamped.
	if name == "" || s.settings.Hash == "" || now == 0 {
		return
	}
	if status.Topic == nil {
		status.Topic = &v1alpha1.TopicStatus{Name: name, Partitions: &now}
		return
	}
	if before := valueOf(status.Topic.Partitions); now > before && before > 0 {
		status.Topic.PartitionsBefore = &before
		status.Topic.PartitionsAddedAt = new(metav1.NewTime(s.now.UTC().Truncate(time.Second)))
	}
	status.Topic.Partitions = &now
}

// setKeyOrderKept says when keys may have moved. It is about consumers, so nothing
// else follows from it.
func (s *scope) setKeyOrderKept(status *v1alpha1.OutboxRelayStatus) {
	if s.relay.Spec.Ordering.Mode != v1alpha1.OrderingKey {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionKeyOrderKept)
		return
	}
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionKeyOrderKept, value, reason, message)
	}
	t := status.Topic
	switch {
	case s.relay.Spec.Topic == "":
		set(metav1.ConditionUnknown, reasonTopicsOfRows, "rows name their topics, and nobody watches how many partitions those have")
	case t == nil:
		set(metav1.ConditionUnknown, reasonNotReported, "no relay has said yet how many partitions "+topic(&s.relay.Spec)+" has")
	case t.PartitionsAddedAt != nil && s.now.Before(t.PartitionsAddedAt.Add(orderUnsettled)):
		s.unsettledFor = t.PartitionsAddedAt.Add(orderUnsettled).Sub(s.now)
		set(metav1.ConditionFalse, reasonPartitionsAdded, fmt.Sprintf(
			"%s has grown from %d to %d partitions, so keys may have moved to other ones: a consumer that lags may read a newer event of "+
				"a key before an older one; let consumers catch up (this is said for an hour)",
			topic(&s.relay.Spec), valueOf(t.PartitionsBefore), valueOf(t.Partitions)))
	default:
		set(metav1.ConditionTrue, reasonPartitionsUnchanged, fmt.Sprintf(
			"%s has %d partitions, and none was added within the last hour", topic(&s.relay.Spec), valueOf(t.Partitions)))
	}
}
