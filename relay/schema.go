package relay

import (
	"fmt"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// OpenDoctor opens the doctor of the table that settings name, without a relay:
// as the relay's role, or with the connection URI in adminURIFile as another one.
// close ends its connections. It connects to nothing yet.
func OpenDoctor(s settings.Settings, adminURIFile string) (doctor *schema.Doctor, closeAll func(), err error) {
	mapping, err := mappingOf(s)
	if err != nil {
		return nil, nil, err
	}
	config := databaseConfig(s, "schema")
	if adminURIFile != "" {
		config = schema.AdminConfig(config, adminURIFile)
		s.Database.Pooling = settings.PoolingSession
	}
	db, err := outbox.Open(config)
	if err != nil {
		return nil, nil, fmt.Errorf("open database: %w", err)
	}
	return newDoctor(s, db, mapping), db.Close, nil
}
