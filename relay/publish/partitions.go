package publish

import "sync"

// Partitions is how many partitions the fleet's topic has, as the producers of one
// relay know it together: when one of them is told another number, each of the
// others asks before its next batch, so that they do not disagree about keys for
// longer than that.
type Partitions struct {
	told func(now, before int)

	mu    sync.Mutex
	known int
}

// NewPartitions knows nothing yet. told is called, by whichever producer learns
// it, when the number is another than before; before is 0 the first time.
func NewPartitions(told func(now, before int)) *Partitions {
	return &Partitions{told: told}
}

func (p *Partitions) learn(now int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.known
	p.known = now
	if now != before && p.told != nil {
		p.told(now, before)
	}
}

func (p *Partitions) contradict(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known != n
}
