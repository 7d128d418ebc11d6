package publish

import "github.com/IBM/sarama"

// stickyBytes is how much goes to one partition before the next event without a
// key takes another: few small batches, yet no single large one.
const stickyBytes = 64 << 10

// partitioner chooses partitions as Java's producer does: keys by murmur2 over
// all partitions, events without a key in runs over those that have a leader. A
// producer keeps it for life, so that short batches also go round.
type partitioner struct {
	murmur2 sarama.Partitioner
	message sarama.ProducerMessage
	turn    int
	run     int
}

func newPartitioner() *partitioner {
	return &partitioner{murmur2: sarama.NewMurmur2Partitioner("")}
}

func (p *partitioner) choose(key []byte, size int, t *topic) (int32, error) {
	if key == nil {
		return p.spread(size, t), nil
	}
	p.message.Key = sarama.ByteEncoder(key)
	at, err := p.murmur2.Partition(&p.message, int32(len(t.partitions))) //nolint:gosec // Kafka counts partitions so.
	if err != nil {
		return 0, err
	}
	return t.partitions[at], nil
}

func (p *partitioner) spread(size int, t *topic) int32 {
	if p.run += size; p.run > stickyBytes {
		p.nextRun(size)
	}
	choice := t.writable
	if len(choice) == 0 {
		choice = t.partitions
	}
	return choice[p.turn%len(choice)]
}

func (p *partitioner) nextRun(size int) {
	p.run = size
	p.turn = (p.turn + 1) & 0xffff
}
