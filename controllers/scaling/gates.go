package scaling

// A gate says whether the size is held whatever the age is. The first closed
// one answers.
type gate func(input) (held verdict, closed bool)

var gates = []gate{
	databaseUnavailable, // a relay that cannot claim is not too few relays
	brokerUnavailable,   // nor is one that cannot publish
	sampleUnavailable,   // what is unknown is not zero
	sampleOutdated,      // one look at the table is worth one step
	relaysNotReady,      // no second step before the first has had its effect
}

func sampleUnavailable(in input) (verdict, bool) {
	if in.sample.fresh(in.now, in.policy) {
		return verdict{}, false
	}
	return in.hold(SampleUnavailable, "no relay has reported the backlog in the last %s: %d relays stay",
		seconds(in.policy.MaxSampleAge), in.current), true
}

func sampleOutdated(in input) (verdict, bool) {
	if in.sample.Backlog.At.After(in.history.LastScale) {
		return verdict{}, false
	}
	return in.hold(Stabilizing, "no relay has looked at the table since the last change: %d relays stay", in.current), true
}

func databaseUnavailable(in input) (verdict, bool) {
	return in.hold(DatabaseUnavailable, "no relay can use the database: %d relays stay, more could not help", in.current),
		in.sample.Database == Unavailable
}

func brokerUnavailable(in input) (verdict, bool) {
	return in.hold(BrokerUnavailable, "no relay can publish to the broker: %d relays stay, more could not help", in.current),
		in.sample.Broker == Unavailable
}

// relaysNotReady holds only growth: a fleet that cannot start all its relays
// may well be too large.
func relaysNotReady(in input) (verdict, bool) {
	if in.sample.Ready == nil || *in.sample.Ready >= in.current || in.low(Point{Age: in.age()}) {
		return verdict{}, false
	}
	return in.hold(RelaysNotReady, "%d of %d relays are ready; oldest eligible row %s, target %s: no more before they are",
		*in.sample.Ready, in.current, seconds(in.age()), seconds(in.policy.TargetBacklogAge)), true
}
