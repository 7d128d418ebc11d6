package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/report"
)

// The reasons of NotificationsHeard beside reasonNotReported.
const (
	reasonHeard        = "Heard"
	reasonNotHeard     = "NotHeard"
	reasonNotAnnounced = "NotAnnounced"
)

// setNotificationsHeard is about speed alone: rows that no notification tells of are
// found by asking the table.
func (s *scope) setNotificationsHeard(status *v1alpha1.OutboxRelayStatus) {
	if s.relay.Spec.WakeUp.Mode != v1alpha1.WakeUpNotify {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionNotificationsHeard)
		return
	}
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionNotificationsHeard, value, reason, message)
	}
	answers := map[report.Code]int{}
	for _, a := range s.observation.Answers {
		answers[a.Report.Notifications]++
	}
	channel := fmt.Sprintf("channel %q", s.relay.Spec.WakeUp.Channel)
	switch {
	case answers[report.NotHeard] > 0:
		set(metav1.ConditionFalse, reasonNotHeard, "relays do not hear notifications of "+channel+
			" and poll the table instead: check that the connection leads to a primary, and past every pooler; the relays' logs say more")
	case answers[report.NotAnnounced] > 0:
		set(metav1.ConditionFalse, reasonNotAnnounced, "new rows come without a notification of "+channel+
			", so relays poll the table instead: create the trigger that notifies it, or correct spec.wakeUp.channel")
	case answers[report.OK] > 0:
		set(metav1.ConditionTrue, reasonHeard, "relays hear notifications of "+channel)
	default:
		set(metav1.ConditionUnknown, reasonNotReported, "no relay has said yet whether it hears notifications of "+channel)
	}
}
