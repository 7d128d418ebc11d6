// Package postgres runs a real PostgreSQL for development and tests, from packages and without a container.
//
// PostgreSQL 18 comes from an npm package; other versions are those that the system has installed. A server has one
// superuser, postgres, with a random password (SCRAM-SHA-256) and, unless switched off, speaks TLS only, with a
// certificate from an authority of its own. Data survives everything but Remove, so a test may stop, kill and resume it
// and look at what was committed. It is as durable as PostgreSQL is unless NotDurable says otherwise.
package postgres
