package stage

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// Database is one database for one play, as this process and as pods reach it.
type Database struct {
	// URL is for this process, PodURL for pods. Both hold a password.
	URL, PodURL string
	// CA is the certificate that both have to trust; empty where the system's do.
	CA string
}

// FreshDatabase makes a database of that name, empty, owned by a role of the
// same name. One that is there is dropped, whoever is connected to it.
func (s *Stage) FreshDatabase(ctx context.Context, database string) (Database, error) {
	if s.database == nil {
		return Database{URL: s.external, PodURL: s.external}, nil
	}
	conn, err := s.database.Connect(ctx, "postgres")
	if err != nil {
		return Database{}, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{database}.Sanitize()+" WITH (FORCE)"); err != nil {
		return Database{}, fmt.Errorf("drop database %s: %w", database, err)
	}
	if err := s.database.CreateRole(ctx, database); err != nil {
		return Database{}, err
	}
	if err := s.database.CreateDatabase(ctx, database, database); err != nil {
		return Database{}, err
	}
	ca, err := os.ReadFile(s.database.CAFile())
	if err != nil {
		return Database{}, err
	}
	return Database{URL: s.database.URL(database, database), PodURL: s.database.PodURL(database, database), CA: string(ca)}, nil
}
